pub struct Intake {
    text: String,
    report: (Vec<super::Change>, Vec<super::Skip>),
}
pub struct IntakePiece {
    pub text: String,
    pub span: std::ops::Range<usize>,
    pub chars: std::ops::Range<usize>,
}
impl Intake {
    pub fn new() -> Self {
        Self { text: String::new(), report: Default::default() }
    }
    pub fn push(&mut self, text: &str, _: &super::Options<'_>) -> Result<Vec<IntakePiece>, super::TextError> {
        self.text.push_str(text);
        Ok(vec![])
    }
    pub fn flush(&mut self, _: &super::Options<'_>) -> Result<Vec<IntakePiece>, super::TextError> {
        Ok(vec![])
    }
    pub fn finish(&mut self, o: &super::Options<'_>) -> Result<Vec<IntakePiece>, super::TextError> {
        let p = super::prepare(&self.text, o)?;
        self.report = (p.rewritten, p.skipped);
        Ok(p.pieces.into_iter().map(|p| IntakePiece { chars: p.span.clone(), text: p.text, span: p.span }).collect())
    }
    pub fn take_report(&mut self) -> (Vec<super::Change>, Vec<super::Skip>) {
        std::mem::take(&mut self.report)
    }
}
