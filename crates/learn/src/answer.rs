//! What answers have, where it is learned beside the requests.
//!
//! The rule kept here: `[answers]` says everything that answers prove, also where requests prove
//! the same. A weaker answer is noted.

use std::fmt::Write as _;

use soapstone::config::EndpointConfig;
use soapstone::{Client, ForgetfulReplayCache, Memory};

use crate::draft::{Draft, Side, quoted};
use crate::outline::{Fault, Outline};
use crate::tables::KeyTables;
use crate::{LearnError, Learned, MOST_SAMPLES, tried};

/// What answers have.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// No Security header.
    Plain,
    /// A Timestamp that nothing signs. The value of `timestamp`.
    Timestamp(String),
    /// Signatures or cipher text.
    Secured(Box<Draft>),
}

impl Answer {
    /// The protection, where there is any.
    pub(crate) fn secured(&self) -> Option<&Draft> {
        match self {
            Self::Secured(draft) => Some(draft),
            Self::Plain | Self::Timestamp(_) => None,
        }
    }

    fn mechanism(&self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Timestamp(_) => "timestamp",
            Self::Secured(draft) => draft.mechanism(),
        }
    }

    /// The table of an endpoint file.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("\n[answers]\nmechanism = {}\n", quoted(self.mechanism()));
        let mut line = |key: &str, value: String| {
            let _ = writeln!(text, "{key} = {value}");
        };
        match self {
            Self::Plain => {}
            Self::Timestamp(value) => line("timestamp", value.clone()),
            Self::Secured(draft) => {
                draft.protection().for_each(|(key, value)| line(key, value));
                let references = draft.key_references();
                let signing = references.iter().find(|(table, _)| *table != "encryption");
                if let Some((_, name)) = signing {
                    line("key_reference", quoted(name));
                }
                line("timestamp", draft.timestamp());
            }
        }
        text
    }

    /// Learns from answers of one kind.
    fn of(
        answers: &[Vec<u8>],
        keys: Option<&KeyTables>,
    ) -> Result<(Self, Vec<Outline>), LearnError> {
        let mut outlines = Vec::new();
        let mut plain = 0;
        for (number, answer) in answers.iter().enumerate() {
            match Outline::of(answer) {
                Ok(outline) => outlines.push(outline),
                Err(Fault::NoSecurity) => plain += 1,
                Err(Fault::Envelope(error)) => return Err(LearnError::Envelope(number, error)),
            }
        }
        let Some(first) = outlines.first() else {
            return Ok((Self::Plain, outlines));
        };
        if plain > 0 {
            return Err(LearnError::Different {
                sample: 0,
                what: "a Security header",
                first: format!("{} answers with one", outlines.len()),
                found: format!("{plain} without one"),
            });
        }
        let mut draft = Draft::of(first);
        for (number, outline) in outlines.iter().enumerate().skip(1) {
            draft.also(outline, number)?;
        }
        if let Some(keys) = keys {
            // The refusal that counts is that of the whole file, below.
            tried(&mut draft, answers, &outlines, keys)?;
        }
        let answer = match draft.is_timestamp_alone() {
            true => Self::Timestamp(draft.timestamp()),
            false => Self::Secured(Box::new(draft)),
        };
        Ok((answer, outlines))
    }
}

impl Learned {
    /// Learns from answers to such messages as well: what an answer proves to the client, or gets
    /// from the service, which both files say in `[answers]`. Answers are of one kind.
    ///
    /// `keys` are those of the client, who opens answers. With them, cipher text of the answers is
    /// read, and the client's file is tried on each answer. The result is the refusal of the first
    /// answer that the file does not open, if there is one.
    ///
    /// # Errors
    ///
    /// [`LearnError::Answer`], and [`LearnError::Keys`] where the client's file cannot be read.
    pub fn also_answers(
        &mut self,
        answers: &[Vec<u8>],
        keys: Option<&KeyTables>,
    ) -> Result<Option<String>, LearnError> {
        if answers.is_empty() || answers.len() > MOST_SAMPLES {
            return Err(LearnError::Answer(Box::new(LearnError::Samples(
                answers.len(),
            ))));
        }
        let of_answers = |error| match error {
            LearnError::Keys(problems) => LearnError::Keys(problems),
            other => LearnError::Answer(Box::new(other)),
        };
        let (answer, outlines) = Answer::of(answers, keys).map_err(of_answers)?;
        self.note_answer(&answer, keys.is_some());
        self.draft.answer = Some(answer);
        let Some(keys) = keys else {
            return Ok(None);
        };
        for (number, answer) in answers.iter().enumerate() {
            let created = outlines.get(number).and_then(|outline| outline.created);
            let at = keys.moment().or(created).or(self.at);
            let text = self.draft.text(Side::Sender, Some(keys), at);
            let client =
                EndpointConfig::from_text(&text, keys.file(), &|name| std::env::var(name).ok())
                    .and_then(|config| Client::from_config(&config))
                    .map_err(LearnError::Keys)?;
            let memory = Memory::without_conversations(&ForgetfulReplayCache);
            let now = at.unwrap_or_else(jiff::Timestamp::now);
            let explained = client.explain(answer.clone(), None, memory, now, &mut ());
            if let Err(rejected) = explained.verdict {
                return Ok(Some(format!("{}: {rejected}", rejected.cause().name())));
            }
        }
        Ok(None)
    }

    fn note_answer(&mut self, answer: &Answer, has_keys: bool) {
        let (signs, encrypts) = self.draft.strength();
        let (signed, encrypted) = answer.secured().map_or((false, false), Draft::strength);
        if (signs && !signed) || (encrypts && !encrypted) {
            self.notes.push(
                "answers prove less than requests: everybody on the way can write or read what they lack, and a gateway wants TLS for them"
                    .to_owned(),
            );
        }
        if let Some(draft) = answer.secured() {
            let notes = draft.notes(has_keys).into_iter();
            self.notes
                .extend(notes.map(|note| format!("answers: {note}")));
        }
    }
}
