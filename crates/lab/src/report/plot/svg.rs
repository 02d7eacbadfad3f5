//! Writes SVG: shapes with classes, whose colours are the page's.
//!
//! The rule kept here: every text that goes in is escaped.

use std::fmt::Write as _;

use soapstone::xml::escape::value_of as escape;

/// A drawing.
pub(super) struct Svg(String);

/// How text stands at its place.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub(super) fn new() -> Self {
        Self(String::new())
    }

    /// The drawing as an element of a page, of this size and with this description.
    pub(super) fn finish(self, width: f64, height: f64, class: &str, description: &str) -> String {
        format!(
            "<svg class=\"{class}\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" role=\"img\" \
             aria-label=\"{}\">{}</svg>",
            short(width),
            short(height),
            short(width),
            short(height),
            escape(description),
            self.0
        )
    }

    /// Puts another drawing into this one, so far down.
    pub(super) fn place(&mut self, other: Self, down: f64) {
        let down = short(down);
        // Writing to a String does not fail.
        let _ = write!(
            self.0,
            "<g class=\"panel\" transform=\"translate(0 {down})\">{}</g>",
            other.0
        );
    }

    /// Begins a group with a text that is shown when it is pointed at.
    pub(super) fn begin(&mut self, class: &str, title: &str) {
        // Writing to a String does not fail.
        let _ = write!(self.0, "<g class=\"{class}\">");
        if !title.is_empty() {
            let _ = write!(self.0, "<title>{}</title>", escape(title));
        }
    }

    pub(super) fn end(&mut self) {
        self.0.push_str("</g>");
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = write!(
            self.0,
            "<line class=\"{class}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>",
            short(from.0),
            short(from.1),
            short(to.0),
            short(to.1)
        );
    }

    pub(super) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{},{}", short(*x), short(*y)))
            .collect();
        let _ = write!(
            self.0,
            "<polyline class=\"{class}\" points=\"{}\"/>",
            points.join(" ")
        );
    }

    pub(super) fn polygon(&mut self, class: &str, points: &[(f64, f64)]) {
        let points: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{},{}", short(*x), short(*y)))
            .collect();
        let _ = write!(
            self.0,
            "<polygon class=\"{class}\" points=\"{}\"/>",
            points.join(" ")
        );
    }

    pub(super) fn rectangle(&mut self, class: &str, at: (f64, f64), width: f64, height: f64) {
        let _ = write!(
            self.0,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            short(at.0),
            short(at.1),
            short(width.max(0.0)),
            short(height.max(0.0))
        );
    }

    pub(super) fn circle(&mut self, class: &str, at: (f64, f64), radius: f64) {
        let _ = write!(
            self.0,
            "<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>",
            short(at.0),
            short(at.1),
            short(radius)
        );
    }

    pub(super) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = write!(
            self.0,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            short(at.0),
            short(at.1),
            escape(text)
        );
    }

    /// A mark of this shape with its middle at this place.
    pub(super) fn mark(&mut self, shape: usize, class: &str, (x, y): (f64, f64), size: f64) {
        match shape % 5 {
            0 => self.circle(class, (x, y), size),
            1 => self.rectangle(
                class,
                (x - size * 0.9, y - size * 0.9),
                size * 1.8,
                size * 1.8,
            ),
            2 => self.polygon(
                class,
                &[
                    (x, y - size * 1.25),
                    (x + size * 1.15, y + size * 0.85),
                    (x - size * 1.15, y + size * 0.85),
                ],
            ),
            3 => self.polygon(
                class,
                &[
                    (x, y + size * 1.25),
                    (x + size * 1.15, y - size * 0.85),
                    (x - size * 1.15, y - size * 0.85),
                ],
            ),
            _ => self.diamond(class, (x, y), size * 1.2),
        }
    }

    /// The mark of what a paper reported.
    pub(super) fn diamond(&mut self, class: &str, (x, y): (f64, f64), size: f64) {
        self.polygon(
            class,
            &[(x, y - size), (x + size, y), (x, y + size), (x - size, y)],
        );
    }
}

/// A coordinate to a tenth.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// How wide a text is at 12 units, at most: nobody here knows the reader's fonts. The widths are
/// those of DejaVu Sans, which is wider than the others that the style names or falls back to.
pub(super) fn width_of(text: &str) -> f64 {
    let width = |character: char| match character {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | '.' | ',' | ':' | '/' | ' ' | '·' | '-' => 4.9,
        'm' | 'w' | 'M' | 'W' | '%' | '+' => 11.0,
        'A'..='Z' => 8.8,
        _ => 7.6,
    };
    text.chars().map(width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_wherever_they_stand() {
        let mut svg = Svg::new();
        svg.begin("mark", "a < b & \"c\"");
        svg.text("label", (1.0, 2.55), Anchor::End, "<script>\u{1}");
        svg.end();
        let drawn = svg.finish(10.0, 20.0, "plot", "it's \"so\"");
        assert!(
            drawn.contains("<title>a &lt; b &amp; &quot;c&quot;</title>"),
            "{drawn}"
        );
        assert!(drawn.contains(">&lt;script&gt;\u{fffd}</text>"), "{drawn}");
        assert!(
            drawn.contains("aria-label=\"it&#39;s &quot;so&quot;\""),
            "{drawn}"
        );
        assert!(
            drawn.contains("x=\"1\" y=\"2.5\"") || drawn.contains("y=\"2.6\""),
            "{drawn}"
        );
    }
}
