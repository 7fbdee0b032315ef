//! Character references of HTML: `&amp;`, `&#20013;`, `&#x4e2d;`.

use super::super::decode::plain;
use super::super::stage::{More, Window};
use super::super::unit::is_invisible;
use super::{Found, MAX_ENTITY, between_words};

/// Names and what they stand for. Others stay as they are written.
const NAMED: &str = "amp & lt < gt > quot \" apos ' cent ¢ pound £ yen ¥ euro € curren ¤ sect § copy © reg ® trade ™ \
    deg ° plusmn ± times × divide ÷ frac12 ½ frac14 ¼ frac34 ¾ sup1 ¹ sup2 ² sup3 ³ micro µ para ¶ middot · bull • \
    hellip … mdash — ndash – lsquo ‘ rsquo ’ ldquo “ rdquo ” sbquo ‚ bdquo „ laquo « raquo » lsaquo ‹ rsaquo › \
    larr ← uarr ↑ rarr → darr ↓ harr ↔ rArr ⇒ lArr ⇐ le ≤ ge ≥ ne ≠ asymp ≈ equiv ≡ infin ∞ sum ∑ prod ∏ radic √ \
    part ∂ int ∫ minus − permil ‰ prime ′ Prime ″ iexcl ¡ iquest ¿ not ¬ acute ´ dagger † Dagger ‡ check ✓ num # \
    lsqb [ rsqb ] lbrack [ rbrack ] lpar ( rpar ) ast * lowbar _ grave ` sol / bsol \\ percnt % dollar $ excl ! quest ? \
    comma , period . colon : semi ; equals = plus + commat @ verbar | lcub { rcub } Hat ^ tilde ~ \
    alpha α beta β gamma γ delta δ epsilon ε theta θ lambda λ mu μ pi π sigma σ tau τ phi φ omega ω Delta Δ Sigma Σ \
    Omega Ω agrave à aacute á acirc â atilde ã auml ä aring å aelig æ ccedil ç egrave è eacute é ecirc ê euml ë \
    igrave ì iacute í icirc î iuml ï eth ð ntilde ñ ograve ò oacute ó ocirc ô otilde õ ouml ö oslash ø ugrave ù \
    uacute ú ucirc û uuml ü yacute ý thorn þ yuml ÿ szlig ß Agrave À Aacute Á Acirc Â Atilde Ã Auml Ä Aring Å \
    AElig Æ Ccedil Ç Egrave È Eacute É Ecirc Ê Euml Ë Igrave Ì Iacute Í Icirc Î Iuml Ï ETH Ð Ntilde Ñ Ograve Ò \
    Oacute Ó Ocirc Ô Otilde Õ Ouml Ö Oslash Ø Ugrave Ù Uacute Ú Ucirc Û Uuml Ü Yacute Ý THORN Þ oelig œ OElig Œ \
    scaron š Scaron Š";
/// Those for what cannot be seen.
const SPACES: [&str; 4] = ["nbsp", "ensp", "emsp", "thinsp"];
const INVISIBLE: [&str; 5] = ["shy", "zwj", "zwnj", "lrm", "rlm"];

/// What a reference without its `&` and `;` stands for.
fn value(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) if !hex.is_empty() => u32::from_str_radix(hex, 16).ok()?,
            Some(_) => return None,
            None => number.parse().ok()?,
        };
        // No character has this number, or one that no text may hold: shown, and reported, as unknown.
        let c = char::from_u32(code).filter(|c| *c != '\0').unwrap_or(char::REPLACEMENT_CHARACTER);
        return Some(if is_invisible(c) { String::new() } else { plain(c, false).as_str().to_string() });
    }
    if SPACES.contains(&name) {
        return Some(" ".to_string());
    }
    if INVISIBLE.contains(&name) {
        return Some(String::new());
    }
    let mut words = NAMED.split(' ').filter(|w| !w.is_empty());
    while let (Some(known), Some(value)) = (words.next(), words.next()) {
        if known == name {
            return Some(value.chars().next().map(|c| plain(c, false).as_str().to_string()).unwrap_or_default());
        }
    }
    None
}

/// The reference that begins at `i`. What it stands for is text and never markup.
pub(super) fn entity(input: &Window, i: usize) -> Result<Option<Found>, More> {
    let mut name = String::new();
    for k in i + 1..=i + 1 + MAX_ENTITY {
        match input.char_at(k)? {
            Some(';') => {
                let end = k + 1;
                return value(&name)
                    .map(|text| Ok(Found::Say { end, says: between_words(input, i, end, &text)? }))
                    .transpose();
            }
            Some(c) if c.is_ascii_alphanumeric() || (c == '#' && name.is_empty()) => name.push(c),
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// The references in an attribute's value, replaced.
pub(super) fn decode_all(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find(';').filter(|end| *end <= MAX_ENTITY);
        match end.and_then(|end| Some((value(&rest[1..end])?, end))) {
            Some((value, end)) => {
                out.push_str(&value);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for (name, expected) in [
            ("amp", Some("&")),
            ("eacute", Some("é")),
            ("Eacute", Some("É")),
            ("nbsp", Some(" ")),
            ("zwj", Some("")),
            ("rsquo", Some("'")),
            ("#20013", Some("中")),
            ("#x4E2D", Some("中")),
            ("#X4e2d", Some("中")),
            ("#65313", Some("A")),
            ("#0", Some("\u{FFFD}")),
            ("#xD800", Some("\u{FFFD}")),
            ("#99999999", Some("\u{FFFD}")),
            ("#8203", Some("")),
            ("#", None),
            ("#x", None),
            ("AMP", None),
            ("unknown", None),
            ("", None),
        ] {
            assert_eq!(value(name).as_deref(), expected, "{name:?}");
        }
        assert_eq!(decode_all("a &lt; b &amp;&amp; c &nope; & d"), "a < b && c &nope; & d");
    }
}
