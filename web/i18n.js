/**
 * The page's words, English and Chinese. `{name}` in a text is filled in by `say`.
 *
 * @module i18n
 */

import { recall, remember } from './store.js';

const en = {
  title: 'voxwire',
  language: 'Language: 中文',
  otherLanguage: '中文',
  theme: 'Light or dark',
  connecting: 'connecting',
  ready: 'ready',
  lost: 'lost',
  connection: 'Connection',
  lostTitle: 'The connection is lost. Your text is still here.',
  lostBusy: 'The server has no room just now.',
  lostWait: 'Trying again in {s} s.',
  lostNow: 'Trying again…',
  back: 'Connected again.',
  tryNow: 'Try now',
  text: 'Text',
  samples: 'Sample sentences',
  sampleGreeting: 'Greeting',
  sampleStory: 'Story',
  sampleNumbers: 'Numbers',
  sampleLaugh: 'Laugh',
  placeholder: 'Type what is to be spoken',
  tagGroup: 'Insert at the caret',
  tagLaugh: 'a laugh',
  tagUvBreak: 'a short break',
  tagLbreak: 'a long break',
  tagMissing: 'this model does not know it',
  count: '{n} characters',
  countOf: '{n} / {most}',
  speak: 'Speak',
  stop: 'Stop',
  voice: 'Voice',
  namedVoices: 'Named voices',
  ownVoice: 'model’s own',
  voiceSeed: 'Voice seed',
  none: 'none',
  draw: 'Draw a voice',
  history: 'Drawn voices',
  historyHint: 'Every number is a voice. Drawn ones stay here to go back to.',
  seedWrong: 'Voice seed: a whole number from 0 to 4294967295, please.',
  samplingSeedWrong: 'Sampling seed: a whole number from 0 to 9007199254740991, please.',
  picture: 'Waveform and spectrogram',
  pictureOf: 'Waveform above, spectrogram below, of what is being played',
  pictureEmpty: 'The sound is drawn here as it is spoken.',
  firstSound: 'First sound',
  firstSoundSub: 'from key press to sound',
  firstSoundOf: 'from key press; server {ms} ms',
  gaps: 'Gaps heard',
  gapsNone: 'unbroken',
  gapsOf: '{ms} ms of silence',
  length: 'Audio',
  lengthPlayed: '{s} s played',
  pieces: 'in {n} pieces',
  piece: 'in one piece',
  pace: 'Made',
  times: '× real time',
  rtf: 'RTF {rtf}',
  line: 'Line',
  lineOf: '{kbps} kbit/s, {codec}',
  advanced: 'Advanced',
  temperature: 'Temperature',
  temperatureHint: 'Lower is steadier, higher is livelier.',
  modelDefault: 'model’s',
  speed: 'Speed',
  speedHint: 'Times the natural pace.',
  samplingSeed: 'Sampling seed',
  anew: 'a new one each time',
  keep: 'Keep the last',
  samplingSeedHint: 'The same text, voice and seed give the same audio.',
  format: 'Format',
  formatNoOpus: 'This browser does not decode Opus here: PCM is used.',
  formatHint: 'How the audio travels.',
  sending: 'Sending',
  paceRealtime: 'as it plays',
  paceFast: 'as fast as it is made',
  paceHint: 'Either way it is played at its natural pace.',
  reset: 'Back to defaults',
  reading: 'What will be spoken',
  readingSpoken: 'Spoken',
  readingRewritten: 'Rewritten',
  readingSkipped: 'Left out',
  readingStages: 'Step by step',
  readingNone: 'nothing',
  readingEmpty: 'Nothing is written yet.',
  readingPause: 'silence, {s} s',
  readingMore: 'and {n} more',
  kind_invisible: 'shows nothing',
  kind_width: 'form of a character',
  kind_markup: 'markup',
  kind_pause: 'pause',
  kind_bracket: 'bracket',
  kind_abbreviation: 'abbreviation',
  kind_number: 'number',
  kind_symbol: 'sign',
  kind_lexicon: 'lexicon',
  kind_homophone: 'same sound',
  kind_accent: 'accent',
  kind_punctuation: 'punctuation',
  why_reserved_token: 'a token reserved for the model',
  why_unsupported_tag: 'a tag without a meaning here',
  why_code: 'a code block',
  why_comment: 'a comment',
  why_link_target: 'a link’s target',
  why_footnote: 'a footnote’s mark',
  why_emoji: 'an emoji',
  why_lone_tag: 'a tag without a word',
  why_unknown_character: 'no letter, and no sign with a reading',
  why_unknown_script: 'a script the model does not speak',
  stage_decode: 'characters',
  stage_markup: 'markup',
  stage_tags: 'tags',
  stage_shorthand: 'abbreviations',
  stage_readings: 'numbers and signs',
  stage_letters: 'letters',
  stage_marks: 'punctuation',
  stage_lexicon: 'lexicon',
  stage_homophones: 'same sounds',
  idle: 'Ready when you are.',
  waitingForServer: 'Waiting for the server.',
  asking: 'Waiting for the first sound…',
  speaking: 'Speaking…',
  speakingNth: 'Speaking, piece {n}…',
  done: 'Spoken.',
  doneGaps: 'Spoken, with {n} gaps.',
  doneGap: 'Spoken, with one gap.',
  stopped: 'Stopped.',
  nothing: 'There is nothing to say in this text.',
  empty: 'Type something first.',
  tooLong: 'The text is too long: {n} characters, the server takes {most}.',
  notConnected: 'Not connected yet. Press again when the line is ready.',
  cutShort: 'Cut short: the connection was lost.',
  opusFailed: 'The Opus decoder failed; PCM is used from now on.',
  noSound: 'This browser gives no sound output: {why}',
  failed: 'The server says: {message}',
  oldServer: 'The server speaks another version of the protocol. Reload the page.',
  server: '{server}, session {session}',
};

/** @type {typeof en} */
const zh = {
  title: 'voxwire',
  language: '语言：English',
  otherLanguage: 'English',
  theme: '浅色或深色',
  connecting: '正在连接',
  ready: '就绪',
  lost: '已断开',
  connection: '连接',
  lostTitle: '连接已断开，您的文字还在。',
  lostBusy: '服务器暂时没有空位。',
  lostWait: '{s} 秒后重试。',
  lostNow: '正在重试…',
  back: '已重新连接。',
  tryNow: '立即重试',
  text: '文字',
  samples: '示例',
  sampleGreeting: '问候',
  sampleStory: '故事',
  sampleNumbers: '数字',
  sampleLaugh: '笑声',
  placeholder: '输入要朗读的文字',
  tagGroup: '在光标处插入',
  tagLaugh: '笑声',
  tagUvBreak: '短停顿',
  tagLbreak: '长停顿',
  tagMissing: '此模型不支持',
  count: '{n} 字符',
  countOf: '{n} / {most}',
  speak: '朗读',
  stop: '停止',
  voice: '音色',
  namedVoices: '有名字的音色',
  ownVoice: '模型自带',
  voiceSeed: '音色编号',
  none: '未选',
  draw: '抽一个音色',
  history: '抽过的音色',
  historyHint: '每个数字都是一个音色，抽过的留在这里，随时可以再选。',
  seedWrong: '音色编号应为 0 到 4294967295 的整数。',
  samplingSeedWrong: '采样种子应为 0 到 9007199254740991 的整数。',
  picture: '波形与语谱图',
  pictureOf: '正在播放的声音：上为波形，下为语谱图',
  pictureEmpty: '朗读时，声音会画在这里。',
  firstSound: '首个声音',
  firstSoundSub: '从按键到出声',
  firstSoundOf: '从按键算起；服务器 {ms} 毫秒',
  gaps: '听到的断续',
  gapsNone: '连续',
  gapsOf: '共 {ms} 毫秒无声',
  length: '音频',
  lengthPlayed: '已播放 {s} 秒',
  pieces: '共 {n} 段',
  piece: '共 1 段',
  pace: '生成速度',
  times: '倍实时',
  rtf: 'RTF {rtf}',
  line: '线路',
  lineOf: '{kbps} kbit/s，{codec}',
  advanced: '高级',
  temperature: '温度',
  temperatureHint: '低则平稳，高则生动。',
  modelDefault: '模型默认',
  speed: '语速',
  speedHint: '自然语速的倍数。',
  samplingSeed: '采样种子',
  anew: '每次随机',
  keep: '沿用上次',
  samplingSeedHint: '文字、音色、种子相同，音频就相同。',
  format: '格式',
  formatNoOpus: '此浏览器在此处不能解码 Opus，改用 PCM。',
  formatHint: '音频以何种形式传送。',
  sending: '发送',
  paceRealtime: '随播放进度',
  paceFast: '生成多快发多快',
  paceHint: '无论哪种，播放都是自然速度。',
  reset: '恢复默认',
  reading: '将会这样读',
  readingSpoken: '读出',
  readingRewritten: '改写',
  readingSkipped: '略过',
  readingStages: '逐步查看',
  readingNone: '无',
  readingEmpty: '还没有文字。',
  readingPause: '静音 {s} 秒',
  readingMore: '另有 {n} 处',
  kind_invisible: '不可见字符',
  kind_width: '字符形式',
  kind_markup: '标记',
  kind_pause: '停顿',
  kind_bracket: '括号',
  kind_abbreviation: '缩写',
  kind_number: '数字',
  kind_symbol: '符号',
  kind_lexicon: '词典',
  kind_homophone: '同音字',
  kind_accent: '变音符',
  kind_punctuation: '标点',
  why_reserved_token: '模型保留的记号',
  why_unsupported_tag: '此处无意义的标签',
  why_code: '代码块',
  why_comment: '注释',
  why_link_target: '链接地址',
  why_footnote: '脚注标记',
  why_emoji: '表情符号',
  why_lone_tag: '没有文字的标签',
  why_unknown_character: '不是文字，也没有读法',
  why_unknown_script: '模型不会的文字',
  stage_decode: '字符',
  stage_markup: '标记',
  stage_tags: '标签',
  stage_shorthand: '缩写',
  stage_readings: '数字与符号',
  stage_letters: '字母',
  stage_marks: '标点',
  stage_lexicon: '词典',
  stage_homophones: '同音字',
  idle: '准备好了。',
  waitingForServer: '等待服务器。',
  asking: '等待第一个声音…',
  speaking: '正在朗读…',
  speakingNth: '正在朗读第 {n} 段…',
  done: '读完了。',
  doneGaps: '读完了，有 {n} 处断续。',
  doneGap: '读完了，有 1 处断续。',
  stopped: '已停止。',
  nothing: '这段文字没有可读的内容。',
  empty: '请先输入文字。',
  tooLong: '文字太长：{n} 字符，服务器最多接受 {most}。',
  notConnected: '尚未连接，线路就绪后请再按一次。',
  cutShort: '连接断开，朗读中断。',
  opusFailed: 'Opus 解码失败，此后改用 PCM。',
  noSound: '此浏览器没有声音输出：{why}',
  failed: '服务器答复：{message}',
  oldServer: '服务器的协议版本不同，请刷新页面。',
  server: '{server}，会话 {session}',
};

/** @typedef {keyof typeof en} Phrase */
/** @typedef {'en' | 'zh'} Language */

/** Sentences to start with, by the language spoken; a model that lacks a language or a tag is not offered what needs it. */
export const SAMPLES = {
  en: [
    { name: /** @type {Phrase} */ ('sampleGreeting'), text: 'Good morning! This is voxwire. You hear the first words while the last ones are still being made.' },
    { name: /** @type {Phrase} */ ('sampleStory'), text: 'The old lighthouse keeper climbed the stairs once more. [uv_break] Below him the sea was dark and calm, and a small boat was coming home.' },
    { name: /** @type {Phrase} */ ('sampleNumbers'), text: 'The train leaves at 9:45 from platform 7. A ticket costs $12.50, and the journey takes 2 hours.' },
    { name: /** @type {Phrase} */ ('sampleLaugh'), text: 'And then the dog walked in with my hat on. [laugh] I could not believe it!' },
  ],
  zh: [
    { name: /** @type {Phrase} */ ('sampleGreeting'), text: '早上好！这里是 voxwire。最后几个字还在生成，您已经听到了开头。' },
    { name: /** @type {Phrase} */ ('sampleStory'), text: '老灯塔看守人又一次走上楼梯。[uv_break] 脚下的大海漆黑而平静，一条小船正在回家。' },
    { name: /** @type {Phrase} */ ('sampleNumbers'), text: '列车 9:45 从 7 号站台出发，票价 12.5 元，全程 2 小时。' },
    { name: /** @type {Phrase} */ ('sampleLaugh'), text: '然后那只狗戴着我的帽子走了进来。[laugh] 我简直不敢相信！' },
  ],
};

const remembered = recall('language', String());

/** @type {Language} */
export let language = remembered === 'zh' || remembered === 'en' ? remembered : preferred(navigator.languages ?? [navigator.language]);

/**
 * The first language of the user's that the page has.
 * @param {readonly string[]} languages
 * @returns {Language}
 */
export function preferred(languages) {
  for (const tag of languages) {
    if (/^zh\b/i.test(tag)) return 'zh';
    if (/^en\b/i.test(tag)) return 'en';
  }
  return 'en';
}

/** @param {Language} to */
export function setLanguage(to) {
  language = to;
  remember('language', to);
}

/**
 * @param {Phrase} phrase
 * @param {Record<string, string | number>} [values]
 */
export function say(phrase, values = {}) {
  return (language === 'zh' ? zh : en)[phrase].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

/**
 * The words for a name of the protocol, or `fallback` where this page has none: a newer server knows more names.
 * @param {string} phrase
 * @param {string} fallback
 */
export function sayNamed(phrase, fallback) {
  return Object.hasOwn(en, phrase) ? say(/** @type {Phrase} */ (phrase)) : fallback;
}

/** Writes the words of the language in use into the document. */
export function translate() {
  document.documentElement.lang = language === 'zh' ? 'zh-Hans' : 'en';
  const each = (/** @type {string} */ name, /** @type {(element: HTMLElement, words: string) => void} */ write) => {
    for (const element of document.querySelectorAll(`[data-${name}]`)) {
      write(/** @type {HTMLElement} */ (element), say(/** @type {Phrase} */ (element.getAttribute(`data-${name}`))));
    }
  };
  each('i18n', (element, words) => { element.textContent = words; });
  each('i18n-label', (element, words) => {
    element.setAttribute('aria-label', words);
    if (element instanceof HTMLButtonElement) element.title = words;
  });
  each('i18n-placeholder', (element, words) => element.setAttribute('placeholder', words));
}
