//! The draft tried by the engine itself, which shows what only keys show.
//!
//! The rule kept here: nothing is learned from what did not verify.

use jiff::Timestamp;
use soapstone::config::{EndpointConfig, Problems};
use soapstone::wss::names::{DS, TYPE_CONTENT, WSSE};
use soapstone::wss::{Envelope, Event, Operation, OperationObserver, Rejected};
use soapstone::xml::{Element, NodeId};
use soapstone::{ForgetfulReplayCache, Memory, Opener};

use crate::algorithms::Algorithms;
use crate::covered::{Covered, covered_name};
use crate::draft::{Draft, Side};
use crate::outline::{Reference, is_sealed};
use crate::tables::KeyTables;
use crate::user::{Password, TokenForm, password};
use crate::written::PrefixLists;

/// How often what the keys show is followed: a signature behind cipher text, and what it covers.
const ROUNDS: usize = 4;

/// What one opening showed.
#[derive(Default)]
struct Shown {
    signs: bool,
    signed: Vec<Covered>,
    /// References by their places, and where they lead: to an element by its name, or to cipher
    /// text.
    order: Vec<(u32, Result<Covered, NodeId>)>,
    encrypted: Vec<Covered>,
    algorithms: Algorithms,
    signature_reference: Option<Reference>,
    password: Option<Password>,
    token: Option<TokenForm>,
    prefixes: Option<PrefixLists>,
    /// Cipher text that is signed.
    sealed: Vec<NodeId>,
    /// What was in cipher text.
    unsealed: Vec<(NodeId, Covered)>,
    /// The same of items of the Security header, by their place in it.
    items: Vec<(usize, Covered)>,
}

impl OperationObserver for Shown {
    fn ended(&mut self, _: Operation) {}

    fn listens(&self) -> bool {
        true
    }

    fn found(&mut self, envelope: &Envelope, event: Event<'_>) {
        let document = envelope.document();
        match event {
            Event::SignatureValue {
                signature,
                refused: None,
                ..
            } => {
                let element = document.element(signature.node);
                self.signs = true;
                self.algorithms.join(&Algorithms::of(element));
                self.prefixes
                    .get_or_insert_with(|| PrefixLists::of(element));
                let info = signature.key_info.map(|info| document.element(info));
                if let (Some(info), Some(security)) = (info, element.parent()) {
                    self.signature_reference
                        .get_or_insert(Reference::of(info, security));
                }
            }
            Event::Reference {
                reference,
                target: Some(target),
                refused: None,
                ..
            } => {
                let place = document.element(reference.node).range().start;
                if is_sealed(document.element(target)) {
                    self.sealed.push(target);
                    self.order.push((place, Err(target)));
                    return;
                }
                let is_of_token = document
                    .element(reference.node)
                    .descendants()
                    .any(|below| below.local() == "TransformationParameters");
                let covered = match is_of_token {
                    true => Covered::Part("Token".to_owned()),
                    false => covered_name(document.element(target)),
                };
                self.order.push((place, Ok(covered.clone())));
                self.signed.push(covered);
            }
            Event::Decryption {
                node,
                plaintext,
                refused: None,
                ..
            } => {
                let data = document.element(node);
                let plaintext: Vec<Element<'_>> = plaintext
                    .iter()
                    .map(|node| document.element(*node))
                    .collect();
                for element in &plaintext {
                    self.algorithms.join(&Algorithms::of(*element));
                    self.signs |= element.is(DS, "Signature");
                    if element.is(WSSE, "UsernameToken") {
                        self.password = Some(password(*element));
                        self.token = Some(TokenForm::of(*element));
                    }
                }
                let covered = deciphered(data, &plaintext);
                let around = data.parent().filter(|it| is_sealed(*it));
                for element in [Some(data), around].into_iter().flatten() {
                    self.unsealed.push((element.id(), covered.clone()));
                }
                let security = data.parent().filter(|it| it.is(WSSE, "Security"));
                if let Some(security) = security {
                    // The element may stand there already.
                    let found = plaintext.first().map(|it| it.id());
                    let place = security
                        .children()
                        .position(|it| it.id() == data.id() || Some(it.id()) == found);
                    self.items
                        .extend(place.map(|place| (place, covered.clone())));
                }
                self.encrypted.push(covered);
            }
            _ => {}
        }
    }
}

/// How an endpoint file names what was enciphered.
fn deciphered(data: Element<'_>, plaintext: &[Element<'_>]) -> Covered {
    let parent = data.parent();
    let is_content = data
        .attribute("", "Type")
        .is_some_and(|kind| kind == TYPE_CONTENT);
    let (element, extent) = match (is_content, plaintext.first(), parent) {
        (true, _, Some(parent)) => (parent, "content:"),
        (false, Some(element), _) => (*element, ""),
        _ => return Covered::Unnamed("cipher text without an element".to_owned()),
    };
    match covered_name(element) {
        Covered::Part(name) if name == "Body" => Covered::Part(name),
        Covered::Part(name) => Covered::Part(format!("{extent}{name}")),
        unnamed => unnamed,
    }
}

/// Has the engine open the message with the draft, and the draft learn from what verified, until it
/// learns nothing more. The refusal that is left, if there is one.
pub(crate) fn refine(
    draft: &mut Draft,
    message: &[u8],
    keys: &KeyTables,
    at: Option<Timestamp>,
) -> Result<Option<String>, Problems> {
    let mut refused = None;
    for _ in 0..ROUNDS {
        let before = draft.text(Side::Receiver, Some(keys), at);
        let config =
            EndpointConfig::from_text(&before, keys.file(), &|name| std::env::var(name).ok())?;
        let opener = Opener::from_config(&config)?;
        let mut shown = Shown::default();
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let now = at.unwrap_or_else(Timestamp::now);
        let verdict = opener
            .explain(message.to_vec(), None, memory, now, &mut shown)
            .verdict;
        learn_from(draft, &shown);
        match verdict {
            Ok(()) => refused = None,
            Err(rejected) => {
                if matches!(rejected.cause(), Rejected::WrongOrder { .. }) {
                    draft.signs_first = !draft.signs_first;
                }
                let why = format!("{}: {rejected}", rejected.cause().name());
                refused = Some(match rejected.hint() {
                    Some(hint) => format!("{why}; {hint}"),
                    None => why,
                });
            }
        }
        if draft.text(Side::Receiver, Some(keys), at) == before {
            break;
        }
    }
    Ok(refused)
}

fn learn_from(draft: &mut Draft, shown: &Shown) {
    let sealed = shown.unsealed.iter();
    let sealed = sealed.filter(|(parent, _)| shown.sealed.contains(parent));
    sealed.for_each(|(_, covered)| draft.also_signed(covered));
    for (place, covered) in &shown.items {
        draft.order.unsealed(*place, covered);
    }
    draft.signs |= shown.signs;
    draft.password = draft.password.or(shown.password);
    draft.token = draft.token.or(shown.token);
    draft.written.also_signed(shown.prefixes.as_ref());
    draft.algorithms.join(&shown.algorithms);
    if draft.signature_reference.is_none() {
        draft.signature_reference = shown.signature_reference;
    }
    shown
        .signed
        .iter()
        .for_each(|covered| draft.also_signed(covered));
    shown
        .encrypted
        .iter()
        .for_each(|covered| draft.also_encrypted(covered));
    // They are verified in another order.
    let mut order: Vec<_> = shown.order.iter().collect();
    order.sort_by_key(|(place, _)| *place);
    let order = order.into_iter().flat_map(|(_, target)| match target {
        Ok(covered) => vec![covered],
        Err(sealed) => {
            let inside = shown.unsealed.iter().filter(|(node, _)| node == sealed);
            inside.map(|(_, covered)| covered).collect()
        }
    });
    draft.order_signed(&order.collect::<Vec<_>>());
}
