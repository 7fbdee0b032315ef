use std::time::Duration;

use crate::text::tests::{chattts, small};
use crate::text::unit::{Reading, Unit};
use crate::text::{ChangeKind, Intake, Language, Options, Prepared, SkipReason, explain, prepare, stage};

fn both(raw: &str) -> Prepared {
    prepare(raw, &Options::new(&chattts)).unwrap()
}

fn english(raw: &str) -> Prepared {
    prepare(raw, &Options { languages: &[Language::English], ..Options::new(&small) }).unwrap()
}

/// All of them, so that one run shows all that is wrong.
fn assert_spoken(cases: &[(&str, &str)]) {
    let found = |raw: &str| both(raw).spoken();
    let wrong: Vec<_> = cases.iter().filter(|(raw, spoken)| found(raw) != *spoken).collect();
    for (raw, spoken) in &wrong {
        println!("{raw:?}: expected {spoken:?}, found {:?}", found(raw));
    }
    assert!(wrong.is_empty(), "{} of {} differ", wrong.len(), cases.len());
}

fn skips(p: &Prepared) -> Vec<(&str, SkipReason)> {
    p.skipped.iter().map(|s| (s.text.as_str(), s.why)).collect()
}

#[test]
fn headings_are_sentences() {
    assert_spoken(&[
        ("# 标题\n正文。", "标题。正文。"),
        ("### 第一章 ###\n从前有座山", "第一章。从前有座山"),
        ("## Getting started\nOpen the box.", "getting started. open the box."),
        ("# Why?\nBecause.", "why? because."),
        ("Title\n=====\nBody", "title. body"),
        ("副标题\n---\n正文", "副标题。正文"),
        ("#标签 很热", "标签很热"),
        ("#tag first", "hashtag tag first"),
        ("####### seven", "seven"),
        ("a # b", "a b"),
    ]);
}

#[test]
fn emphasis_is_not_spoken_and_signs_stay() {
    assert_spoken(&[
        ("**粗体**和*斜体*与~~删除~~", "粗体和斜体与删除"),
        ("***both*** and __strong__ and _soft_", "both and strong and soft"),
        ("un**believ**able", "unbelievable"),
        ("这是*重点*内容", "这是重点内容"),
        ("*笑* 你好", "笑你好"),
        ("==marked== text", "marked text"),
        ("snake_case_name", "snake case name"),
        ("a*b", "a b"),
        ("(a)*(b)", "a b"),
        ("好~~~", "好"),
        ("**", ""),
        ("an open **mark", "an open mark"),
        ("很**好", "很好"),
    ]);
    // A sign between numbers is left to whoever reads them: the digits of two numbers are never one.
    for raw in ["2**3", "2*3", "2 * 3", "2~~3"] {
        let p = english(raw);
        assert!(p.spoken().starts_with("two") && !p.spoken().contains("twenty"), "{raw}: {}", p.spoken());
        assert!(p.rewritten.iter().all(|c| c.kind != ChangeKind::Markup), "{raw}");
    }
}

#[test]
fn list_and_quote_marks_are_not_spoken() {
    assert_spoken(&[
        ("- 一\n- 二", "一，二"),
        ("* apples\n* pears\n  * green ones", "apples, pears, green ones"),
        ("+ 甲\n+ 乙", "甲，乙"),
        ("• one\n• two", "one, two"),
        ("●苹果\n●梨", "苹果，梨"),
        ("- [ ] 买菜\n- [x] 做饭", "买菜，做饭"),
        ("- [ ] open\n- [X] closed", "open, closed"),
        ("> quoted\n> more", "quoted, more"),
        (">> 引用\n\n答复", "引用。答复"),
        ("> - a point", "a point"),
        ("- **bold**: text", "bold, text"),
    ]);
}

#[test]
fn numbered_items_are_sentences() {
    assert_spoken(&[
        ("1. Mix it\n2. Bake it", "one, mix it. two, bake it"),
        ("步骤：\n1. 洗菜\n2. 切菜", "步骤。一，洗菜。二，切菜"),
        ("1) one way\n2) another way", "one, one way. two, another way"),
        ("1、苹果\n2、梨", "一、苹果。二、梨"),
        ("10. **Bold**: text", "ten, bold, text"),
        ("3.5 miles", "three point five miles"),
        ("In 1. That", "in one. that"),
    ]);
}

#[test]
fn what_is_said_as_carries_its_reading() {
    let raw = "1<say-as interpret-as=\"telephone\">2 &lt;`3`</say-as>4<say-as interpret-as='date'>5\n\n";
    let long = format!("{raw}{}6", "x".repeat(300));
    let options = Options::new(&chattts);
    let facts = stage::Facts::new(&options);
    let context = stage::Context { raw: &long, options: &options, facts: &facts };
    let (mut input, mut out) = (stage::Window::default(), stage::Window::default());
    long.char_indices().for_each(|(at, c)| input.push(Unit::char(c, at..at + c.len_utf8())));
    input.end();
    stage::run(&mut super::Markup::default(), &mut input, &context, &mut out);
    let hints: Vec<_> = out.units().iter().filter(|u| !matches!(u.as_char(), Some('x' | '\n'))).collect();
    let hints: Vec<_> = hints.iter().map(|u| (u.as_char().unwrap(), u.hint)).collect();
    let phone = Some(Reading::Telephone);
    assert_eq!(
        hints,
        [
            ('1', None),
            ('2', phone),
            (' ', phone),
            ('<', phone),
            ('3', phone),
            ('4', None),
            ('5', Some(Reading::Date)),
            // Never closed: it ends by itself.
            ('6', None),
        ]
    );
    assert_eq!(skips(&both("<say-as interpret-as='song'>a</say-as>"))[0].1, SkipReason::UnsupportedTag);
}

#[test]
fn rules_and_tables() {
    assert_spoken(&[
        ("上面\n\n---\n\n下面", "上面。下面"),
        ("above\n***\nbelow", "above. below"),
        ("above\n- - -\nbelow", "above. below"),
        ("above\n_____\nbelow", "above. below"),
        ("| 名 | 价 |\n|---|:-:|\n| 甲 | 乙 |\n", "名，价。甲，乙"),
        ("| Name | Age |\n| --- | ---: |\n| Ann | ten |", "name, age. ann, ten"),
        ("a | b\n--- | ---\nc | d", "a b. c d"),
        ("| 空 | |", "空。"),
        ("x | y", "x y"),
    ]);
    // Cells are no groups of digits.
    assert_eq!(english("|1|234|").spoken(), "one, two hundred thirty four");
}

#[test]
fn of_links_and_images_the_label_is_spoken() {
    assert_spoken(&[
        ("见[文档](https://example.com/a?b=c)。", "见文档。"),
        ("see [the docs](https://example.com/a_(b) \"A title\") now", "see the docs now"),
        ("[top](#top) and [up](../index.html)", "top and up"),
        ("![猫](cat.png)很可爱", "猫很可爱"),
        ("A cat: ![sleeping cat](/img/cat.png).", "a cat, sleeping cat."),
        ("[![标志](a.png)](https://b.cn)", "标志"),
        ("[空]()", "空"),
        ("[含税](价格)", "含税价格"),
        ("a [b] (c)", "a b c"),
        ("[docs]: https://example.com/x 'T'\n正文", "正文"),
        ("脚注[^1]在此。\n\n[^1]: 说明", "脚注在此。说明"),
        ("See it[^note].", "see it."),
        ("Hello![laugh] there", "hello.[laugh] there"),
    ]);
    let p = both("见[文档](https://example.com)。");
    assert_eq!(skips(&p), [("](https://example.com)", SkipReason::LinkTarget)]);
    let p = both("好[^1]");
    assert_eq!(skips(&p), [("[^1]", SkipReason::Footnote)]);
    // The address itself is for whoever reads numbers and symbols.
    assert!(english("<me@example.com>").spoken().starts_with("me at example"));
    assert!(english("at <https://example.com> now").spoken().contains("example"));
}

#[test]
fn code_in_a_line_is_spoken_and_blocks_are_not() {
    assert_spoken(&[
        ("用`git push`命令", "用git push命令"),
        ("call ``run`` now", "call run now"),
        ("an `open tick", "an open tick"),
        ("`a*b*c <i>`", "a b c i"),
        ("看：\n```python\nprint(1)\n```\n然后继续。", "看。然后继续。"),
        ("Look:\n\n```\nx = 1\ny = 2\n```\n\nDone.", "look. done."),
        ("~~~\ncode\n~~~\n好", "好"),
        ("````\n```\n````\nok then", "ok then"),
        ("  ```js\nlet a;\n  ```\nafter", "after"),
        ("- 步骤\n  ```\n  ls\n  ```\n- 完成", "步骤。完成"),
        ("```\n没有结尾", "没有结尾"),
        ("```one line```", "one line"),
        ("~~~好~~~", "好"),
        ("~~~ 哈哈\n好\n~~~", "哈哈，好"),
    ]);
    let p = both("```python\nprint(1)\n```");
    assert!(p.nothing_to_say);
    assert_eq!(skips(&p), [("```python\nprint(1)\n```", SkipReason::Code)]);
    // Emoji and wide letters of a block go with it.
    assert_eq!(skips(&both("好\n```\n😀Ａ\n```")), [("```\n😀Ａ\n```", SkipReason::Code)]);
    let long = format!("前面。\n```\n{}\n```\n后面。", "代码\n".repeat(2000));
    assert_eq!(both(&long).spoken(), "前面。后面。");
    let too_long = format!("前面。\n```\n{}\n```\n后面。", "代码\n".repeat(4000));
    let p = both(&too_long);
    assert!(p.spoken().ends_with("后面。") && p.skipped.is_empty());
    assert_eq!(p.spoken().matches("代码").count(), 4000);
}

#[test]
fn escapes_are_marks_without_meaning() {
    assert_spoken(&[
        (r"\*不是强调\*", "不是强调"),
        (r"\# no heading", "no heading"),
        (r"\[laugh\] is a tag", "laugh is a tag"),
        ("one\\\ntwo", "one, two"),
        (r"\`x\`", "x"),
        (r"C:\dir", "c, dir"),
    ]);
}

#[test]
fn tags_of_html_are_not_spoken() {
    assert_spoken(&[
        ("<p>第一段</p><p>第二段</p>", "第一段。第二段"),
        ("<P CLASS='a'>One</P>\n<P>Two</P>", "one. two"),
        ("一<br>二<br/>三<br />四", "一。二。三。四"),
        ("un<b>believ</b>able <i>words</i>", "unbelievable words"),
        ("<a href=\"https://x.cn/?a=1&amp;b=2\" target=_blank>链接</a>文字", "链接文字"),
        ("<ul><li>苹果</li><li>香蕉</li></ul>", "苹果。香蕉"),
        ("<h1>Title</h1>Text", "title. text"),
        ("<table><tr><td>甲</td><td>乙</td></tr></table>", "甲，乙"),
        ("<img src='a.png' alt='a cat'> sleeps", "a cat sleeps"),
        ("<script>if (a < b) { x(); }</script>正文", "正文"),
        ("A<style>p { color: red }</style>fter", "a. fter"),
        ("<!-- note -->正文<!DOCTYPE html>", "正文"),
        ("<input disabled>写", "写"),
        ("<span\nclass=\"a\">分行</span>", "分行"),
        ("<sub alias='World Wide Web'>www</sub> rules", "world wide web rules"),
    ]);
    let p = both("<foo bar=\"1\">内容</foo>和<my-tag/>");
    assert_eq!(p.spoken(), "内容和");
    let unknown = SkipReason::UnsupportedTag;
    assert_eq!(skips(&p), [("<foo bar=\"1\">", unknown), ("</foo>", unknown), ("<my-tag/>", unknown)]);
    assert_eq!(skips(&both("<script>a</script>好")), [("<script>a</script>", SkipReason::Code)]);
    assert_eq!(
        skips(&both("<!--a-->好<|im_end|>")),
        [("<!--a-->", SkipReason::Comment), ("<|im_end|>", SkipReason::ReservedToken)]
    );
}

#[test]
fn what_only_looks_like_a_tag_is_text() {
    // Signs are for the stage that reads them: here it is only asked that no word is lost and nothing is taken as markup.
    for raw in [
        "a < b and c > d",
        "x<y",
        "x<y and z>w",
        "if a<b and c>d",
        "Vec<T> holds List<String>",
        "a <- b -> c",
        "1 < 2",
        "<3 you",
        "a << b",
        "<",
        "an <b open=\"tag",
        "甲<乙",
        "<p unclosed",
    ] {
        let p = both(raw);
        let markup = |c: &crate::text::Change| c.kind == ChangeKind::Markup;
        assert!(p.skipped.is_empty() && !p.rewritten.iter().any(markup), "{raw:?}: {p:?}");
        for word in raw.split(|c: char| !c.is_alphabetic()).filter(|w| !w.is_empty()) {
            assert!(p.spoken().contains(&word.to_lowercase()), "{word:?} of {raw:?} in {:?}", p.spoken());
        }
    }
}

#[test]
fn entities_are_what_they_stand_for() {
    assert_spoken(&[
        ("苹果 &amp; 梨", "苹果和梨"),
        ("salt &amp; pepper", "salt and pepper"),
        ("&#20013;&#x6587;", "中文"),
        ("caf&eacute;&nbsp;bar", "cafe bar"),
        ("wait&hellip; what", "wait, what"),
        ("它&mdash;&mdash;真的", "它，真的"),
        ("it&#39;s &quot;fine&quot;", "it's fine"),
        ("a&zwj;b", "ab"),
        ("&#91;Stts&#93;你好", "你好"),
        ("&lt;b&gt;粗", "b 粗"),
        ("&unknown; x", "and unknown, x"),
        ("AT&T", "at and t"),
        ("&#0;好", "好"),
    ]);
    assert_eq!(skips(&both("&#0;好")), [("&#0;", SkipReason::UnknownCharacter)]);
}

#[test]
fn control_tags() {
    assert_spoken(&[
        ("[uv_break]你好", "[uv_break]你好"),
        ("你好[lbreak]世界", "你好[lbreak]世界"),
        ("[LAUGH]哈[Uv_Break]", "[laugh]哈[uv_break]"),
        ("[uv break]你好[UV-break]", "[uv_break]你好[uv_break]"),
        ("so funny [laugh] right", "so funny [laugh] right"),
        ("好[oral_2][laugh_0][break_6][speed_5]", "好"),
        ("[spk_emb]你好[empty_spk][Stts][Ptts][Etts]", "你好"),
        ("[[Stts]Stts]好", "stts 好"),
        ("[break_99]hi [ORAL_1]there [unused7]", "hi there"),
        ("［ｌａｕｇｈ］哈", "[laugh]哈"),
        ("价格[含税是多少", "价格含税是多少"),
        ("a]b", "a b"),
        ("[[laugh]]哈", "[laugh]哈"),
        ("[不是标签]好", "不是标签好"),
        ("[music]好[pure]", "好"),
        ("**[laugh]**哈", "[laugh]哈"),
        ("`[Stts]`好", "好"),
        ("[Stts](http://x.cn)好", "stts 好"),
    ]);
    // No token of a prompt, whatever it is hidden in.
    for raw in
        ["&lsqb;Stts]", "[S**t**ts]", "[St<b>ts]", "\\[Stts]", "[St\u{AD}ts]", "[Stts\n]", "[𝐒tts]", "[[S[Stts]tts]"]
    {
        assert!(!both(&format!("你好{raw}")).spoken().contains(['[', ']']), "{raw:?}");
    }
    assert_eq!(skips(&both("[laugh]")), [("[laugh]", SkipReason::LoneTag)]);
    assert!(both("[laugh]").nothing_to_say);
}

fn pauses(raw: &str) -> (Vec<(String, u64)>, u64) {
    let p = both(raw);
    let ms = |d: Duration| d.as_millis() as u64;
    (p.pieces.iter().map(|p| (p.text.clone(), ms(p.pause_before))).collect(), ms(p.pause_after))
}

#[test]
fn pauses_part_pieces() {
    let pieces = |list: &[(&str, u64)]| list.iter().map(|(t, ms)| (t.to_string(), *ms)).collect::<Vec<_>>();
    for (raw, expected, after) in [
        ("你好[pause:2s]世界", &[("你好，", 0), ("世界", 2000)][..], 0),
        ("[pause:1s]你好", &[("你好", 1000)], 0),
        ("你好。[pause:500ms]世界。", &[("你好。", 0), ("世界。", 500)], 0),
        ("one [PAUSE: 1.5 s] two", &[("one,", 0), ("two", 1500)], 0),
        ("一[pause:600s]二", &[("一，", 0), ("二", 10_000)], 0),
        ("一[pause:1]二[pause=0.25]", &[("一，", 0), ("二，", 1000)], 250),
        ("一[pause:1s][pause:2s]，二", &[("一，", 0), ("二", 3000)], 0),
        ("一[pause:9s][pause:9s][pause:9s][pause:9s]二", &[("一，", 0), ("二", 30_000)], 0),
        ("一<break time=\"500ms\"/>二", &[("一，", 0), ("二", 500)], 0),
        ("Hello. <break strength='strong' /> There.", &[("hello.", 0), ("there.", 700)], 0),
        ("一<break/>二", &[("一，", 0), ("二", 400)], 0),
        ("Say: <break time='99s'></break>now", &[("say,", 0), ("now", 10_000)], 0),
        ("[laugh][pause:1s]哈", &[("[laugh]哈", 1000)], 0),
        ("[pause:1s]", &[], 0),
        ("一[pause:1s]😀", &[("一，", 0)], 1000),
        ("一[pause：1s]二", &[("一，", 0), ("二", 1000)], 0),
    ] {
        assert_eq!(pauses(raw), (pieces(expected), after), "{raw:?}");
    }
    for raw in ["一[pause:x]二", "一[pause:]二", "一[pause:-1s]二", "一<break time='soon'/>二", "一[pause:1..5s]二"]
    {
        let p = both(raw);
        assert_eq!((p.pieces.len(), p.skipped.len()), (1, 1), "{raw:?}");
        assert_eq!(p.skipped[0].why, SkipReason::UnsupportedTag, "{raw:?}");
    }
    let p = both("你好[pause:2s]世界");
    assert_eq!((p.pieces[0].span.clone(), p.pieces[1].span.clone()), (0..6, 6..22));
    let change = p.rewritten.iter().find(|c| c.kind == ChangeKind::Pause).unwrap();
    assert_eq!((change.from.as_str(), change.to.as_str()), ("[pause:2s]", "2 s"));
}

#[test]
fn each_emoji_is_skipped_as_a_whole() {
    for emoji in
        ["😀", "👍🏽", "👨‍👩‍👧‍👦", "👩🏾‍🚀", "👩‍❤️‍💋‍👨", "🇨🇳", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣", "#️⃣", "*⃣", "❤️", "☎️", "⭐", "🫠", "🏳️‍🌈", "ℹ️", "©️", "🅰️"]
    {
        for (before, after) in [("你好", "世界"), ("hello ", " there"), ("", "啊"), ("5 and ", "."), ("好", "")] {
            let raw = format!("{before}{emoji}{after}");
            let p = both(&raw);
            assert_eq!(skips(&p), [(emoji, SkipReason::Emoji)], "{raw:?}");
            let without = both(&format!("{before} {after}"));
            assert_eq!(p.spoken(), without.spoken(), "{raw:?}");
        }
        assert!(both(emoji).nothing_to_say, "{emoji:?}");
        assert_eq!(both(&emoji.repeat(2)).skipped.len(), 2, "{emoji:?}");
    }
    assert_eq!(skips(&both("好🇨🇳🇺")).len(), 2);
    // Digits and signs by themselves are none, and circled letters are letters.
    assert_eq!(both("1 # *").skipped, []);
    assert_eq!(both("Ⓐ").spoken(), "a");
}

#[test]
fn mere_looks_are_taken_off() {
    assert_spoken(&[
        ("Ｈｅｌｌｏ，ｗｏｒｌｄ", "hello, world"),
        ("𝐇𝐞𝐥𝐥𝐨 𝓌ℴ𝓇𝓁𝒹", "hello world"),
        ("ⓗⓘ Ⓐ 🄱 🅒", "hi a b c"),
        ("ﬁne ﬂow ﬀ", "fine flow ff"),
        ("⼈⼭⽔", "人山水"),
        ("豈有此理", "豈有此理"),
        ("好﹐好︒", "好，好。"),
        ("真的‼是吗⁇", "真的。是吗？"),
        ("H₂O", "h two o"),
        ("你\u{200B}好\u{FEFF}\u{2060}", "你好"),
        ("co\u{AD}op\u{200D}", "coop"),
        ("ſo ĳs", "so ijs"),
    ]);
}

#[test]
fn scripts_the_model_does_not_speak_are_reported() {
    for (raw, spoken, foreign) in [
        ("こんにちは", "", "こんにちは"),
        ("你好こんにちは世界", "你好世界", "こんにちは"),
        ("say Привет now", "say now", "Привет"),
        ("안녕 hello", "hello", "안녕"),
        ("مرحبا，你好", "你好", "مرحبا"),
        ("สวัสดี hi there", "hi there", "สวัสดี"),
        ("<b>Привет</b>好", "好", "Привет"),
    ] {
        let p = both(raw);
        assert_eq!(p.spoken(), spoken, "{raw:?}");
        let text: String = p.skipped.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(text, foreign, "{raw:?}");
        assert_eq!(p.skipped[0].why, SkipReason::UnknownScript, "{raw:?}");
        assert_eq!(p.nothing_to_say, spoken.is_empty());
    }
}

#[test]
fn marks_are_pauses() {
    assert_spoken(&[
        ("（笑）好的", "笑，好的"),
        ("苹果（一种水果）很好吃", "苹果，一种水果，很好吃"),
        ("【标题】内容", "标题，内容"),
        ("它——真的……吗", "它，真的，吗"),
        ("甲；乙：丙", "甲，乙，丙"),
        ("one—two–three", "one, two, three"),
        ("卡尔·马克思《资本论》", "卡尔马克思资本论"),
        ("well (as they say) done", "well as they say done"),
    ]);
}

#[test]
fn pieces_are_never_orphans() {
    for raw in [
        "I think so. No.",
        "我觉得可以。不。",
        "That is all there is to it. Yes.",
        "今天就到这里吧。好的。",
        "Look at that. I do.",
        "好。我们开始吧。",
        "No. I do not think so.",
        "Well done everyone. A",
        "他来了。嗯",
    ] {
        assert_eq!(both(raw).pieces.len(), 1, "{raw:?}: {:?}", both(raw).pieces);
    }
    for raw in [
        "I think so. No, I do not.",
        "我觉得可以。不过要看天气。",
        "That is all there is. We are done now.",
        "今天就到这里吧。我们明天再说。",
        "Look at that. It is huge.",
    ] {
        assert_eq!(both(raw).pieces.len(), 2, "{raw:?}: {:?}", both(raw).pieces);
    }
}

#[test]
fn each_stage_shows_what_it_made() {
    let raw = "# Ｈｉ 😀\n见**[文档](http://x.cn)**[laugh]&amp;[pause:1s]好。";
    let options = Options::new(&chattts);
    let shown = explain(raw, &options, true).unwrap();
    assert_eq!(shown.prepared, prepare(raw, &options).unwrap());
    let stages: Vec<_> = shown.stages.iter().map(|s| (s.stage, s.text.as_str())).collect();
    assert_eq!(
        stages[..3],
        [
            ("decode", "# Hi  \n见**[文档](http://x.cn)**[laugh]&[pause:1s]好。".replace('&', "&amp;").as_str()),
            ("markup", " Hi  \n\n见[文档 [laugh]&[pause:1s]好。"),
            ("tags", " Hi  \n\n见 文档 [laugh]&\n[pause:1000ms]好。"),
        ]
    );
    assert_eq!(stages.last().unwrap(), &("marks", "hi.见文档[laugh]和，[pause:1000ms]好。"));
    assert_eq!(shown.spoken, "hi.见文档[laugh]和，好。");
    // Whatever way the text came.
    let mut intake = Intake::traced(usize::MAX);
    raw.split_inclusive(|_| true).for_each(|c| drop(intake.push(c, &options).unwrap()));
    intake.finish(&options);
    assert_eq!(intake.stages(), shown.stages);
    let json = serde_json::to_value(&shown).unwrap();
    for key in ["spoken", "pieces", "rewritten", "skipped", "nothing_to_say", "stages"] {
        assert!(!json[key].is_null(), "{key}");
    }
    assert_eq!(json["pieces"][1]["pause_before_ms"], 1000);
    assert!(serde_json::to_value(explain(raw, &options, false).unwrap()).unwrap()["stages"].is_null());
}
