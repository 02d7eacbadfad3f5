//! Learning from answers beside the requests.
//!
//! The rule kept here: a weaker answer is noted.

use soapstone::config::EndpointConfig;
use soapstone::{Client, ForgetfulReplayCache, Memory};

use crate::Learned;
use crate::answer::Answer;
use crate::draft::{Draft, Side};
use crate::error::{LearnError, MOST_SAMPLES};
use crate::outline::{Fault, Outline};
use crate::tables::KeyTables;
use crate::trial::tried;

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
        let (answer, outlines) = answer_of(answers, keys).map_err(of_answers)?;
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

/// Learns from answers of one kind.
fn answer_of(
    answers: &[Vec<u8>],
    keys: Option<&KeyTables>,
) -> Result<(Answer, Vec<Outline>), LearnError> {
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
        return Ok((Answer::Plain, outlines));
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
        true => Answer::Timestamp(draft.timestamp()),
        false => Answer::Secured(Box::new(draft)),
    };
    Ok((answer, outlines))
}
