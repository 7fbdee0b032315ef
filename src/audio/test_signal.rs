//! Sounds for tests.

/// Something like a voice at 24 kHz: a gliding harmonic tone, swelling and fading three times a second.
pub fn voice(n: usize) -> Vec<f32> {
    let mut phase = 0.0f32;
    (0..n)
        .map(|i| {
            let t = i as f32 / 24_000.0;
            phase += std::f32::consts::TAU * (160.0 + 40.0 * (t * 5.0).sin()) / 24_000.0;
            let tone: f32 = (1..12).map(|h| (phase * h as f32).sin() / h as f32).sum();
            tone * 0.25 * (0.55 + 0.45 * (t * 19.0).sin())
        })
        .collect()
}

/// Normalised correlation of the samples both have.
pub fn correlation(a: &[f32], b: &[f32]) -> f32 {
    let n = a.len().min(b.len());
    let dot = |a: &[f32], b: &[f32]| a[..n].iter().zip(&b[..n]).map(|(x, y)| (x * y) as f64).sum::<f64>();
    (dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()) as f32
}
