//! A draft tried on the messages that it is of, with the reader's own keys.
//!
//! The rule kept here: an inner signature is demanded only where it verified with these keys. One
//! that is not demanded is told with its reason.

use crate::draft::Draft;
use crate::engine;
use crate::error::LearnError;
use crate::outline::Outline;
use crate::tables::KeyTables;

/// The draft tried on messages until one refuses it. Why it is refused, if it is.
pub(crate) fn tried(
    draft: &mut Draft,
    samples: &[Vec<u8>],
    outlines: &[Outline],
    keys: &KeyTables,
) -> Result<Option<String>, LearnError> {
    for (sample, outline) in samples.iter().zip(outlines) {
        let at = keys.moment().or(outline.created);
        let refused = match engine::refine(draft, sample, keys, at) {
            Ok(refused) => refused,
            // The notes tell which policy it takes.
            Err(problems) if draft.takes_a_policy() => Some(format!(
                "an endpoint file without a policy cannot say what this message does: {problems}"
            )),
            Err(problems) => return Err(LearnError::Keys(problems)),
        };
        if refused.is_some() {
            return Ok(refused);
        }
    }
    Ok(None)
}

/// Learns an element of the Body that is signed by itself, if all messages have it.
pub(crate) fn try_inner(
    draft: &mut Draft,
    samples: &[Vec<u8>],
    outlines: &[Outline],
    keys: Option<&KeyTables>,
) -> Result<(), LearnError> {
    let mut all = outlines.iter().map(|outline| outline.inner.as_ref().ok());
    let Some(inner) = all.clone().find_map(|inner| inner?.as_ref()) else {
        return Ok(());
    };
    if all.any(|other| other != Some(&Some(inner.clone()))) {
        draft.unsaid(format!(
            "`{}` of the Body is signed by itself, and not in the same way in every message: nothing is demanded of it",
            inner.element
        ));
        return Ok(());
    }
    let mut with = draft.clone();
    with.inner = Some(inner.clone());
    let refused = match keys {
        Some(keys) => match tried(&mut with, samples, outlines, keys) {
            Ok(refused) => refused,
            Err(LearnError::Keys(problems)) => Some(problems.to_string()),
            Err(other) => return Err(other),
        },
        None => Some("there are no keys to verify it".to_owned()),
    };
    match refused {
        None => *draft = with,
        Some(why) => draft.unsaid(format!(
            "`{}` of the Body is signed by itself, and that is not demanded ([inner]): {why}",
            inner.element
        )),
    }
    Ok(())
}
