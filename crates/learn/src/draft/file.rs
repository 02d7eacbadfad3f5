//! The endpoint files that a draft becomes: that of the receiver, and that of the sender.
//!
//! The rule kept here: how messages are written is in the file of the side that writes them.

use std::fmt::Write as _;

use jiff::Timestamp;
use soapstone::wss::OrderedItem;

use super::{Draft, Side, list};
use crate::answer::Answer;
use crate::outline::Reference;
use crate::quoted::quoted;
use crate::tables::KeyTables;
use crate::user::{Password, TokenForm};

impl Draft {
    /// The endpoint file of a side.
    pub(crate) fn text(
        &self,
        side: Side,
        keys: Option<&KeyTables>,
        time: Option<Timestamp>,
    ) -> String {
        let mut text = String::new();
        match keys {
            Some(keys) => {
                text.push_str(keys.text());
                text.push('\n');
            }
            None => text.push_str(&self.places_for_keys(side)),
        }
        text.push_str("[security]\n");
        let mut line = |key: &str, value: String| {
            let _ = writeln!(text, "{key} = {value}");
        };
        // A preset has no user beside a signature: the mechanism of users has both.
        let mechanism = match self.password {
            Some(_) => "username",
            None => self.mechanism(),
        };
        line("mechanism", quoted(mechanism));
        self.protection().for_each(|(key, value)| line(key, value));
        if let Some(leaving) = self.leaving(side) {
            let forms = leaving.forms(side == Side::Sender).into_iter();
            forms.for_each(|(key, value)| line(key, value));
        }
        if let Some(arriving) = self.arriving(side) {
            arriving.on_arrival(&mut line);
        }
        match self.password {
            Some(Password::Text) => line("password", quoted("text")),
            Some(Password::Digest | Password::None) | None => {}
        }
        line("timestamp", self.timestamp());
        if let (Side::Receiver, Some(to)) = (side, &self.to) {
            line("addressing", format!("{{ to = [{}] }}", quoted(to)));
        }
        if let Some(actor) = &self.actor {
            line("actor", quoted(actor));
        }
        if side == Side::Sender && !self.must_understand {
            line("must_understand", "false".to_owned());
        }
        if let (Side::Sender, Some(form)) = (side, self.username_token()) {
            line("username_token", form);
        }
        if let (Side::Sender, Some(order)) = (side, self.header_order()) {
            line("header_order", order);
        }
        if let Some(time) = time {
            line("time", quoted(&time.to_string()));
        }
        if let Some(inner) = &self.inner {
            text.push_str(&inner.table());
        }
        if let Some(answer) = &self.answer {
            text.push_str(&answer.table());
        }
        text
    }

    /// The messages that a side opens, if there are any: requests, or answers.
    fn arriving(&self, side: Side) -> Option<&Self> {
        match side {
            Side::Receiver => Some(self),
            Side::Sender => self.answer.as_ref().and_then(Answer::secured),
        }
    }

    /// The messages that a side makes, if there are any.
    fn leaving(&self, side: Side) -> Option<&Self> {
        match side {
            Side::Sender => Some(self),
            Side::Receiver => self.answer.as_ref().and_then(Answer::secured),
        }
    }

    /// The keys that say how messages of this form are written, and not how they are read. How
    /// answers name keys is said with what else they have.
    pub(super) fn forms(&self, names_keys: bool) -> Vec<(&'static str, String)> {
        let mut forms = Vec::new();
        let (mut signature, mut encryption) = (Vec::new(), Vec::new());
        let named = self.key_references().into_iter().filter(|_| names_keys);
        for (table, name) in named {
            let said = || format!("key_reference = {}", quoted(name));
            match table {
                "" => forms.push(("key_reference", quoted(name))),
                "signature" => signature.push(said()),
                _ => encryption.push(said()),
            }
        }
        if self.signs {
            signature.extend(self.written.of_signature());
        }
        if self.encrypts {
            encryption.extend(self.written.of_encryption());
        }
        let tables = [("signature", signature), ("encryption", encryption)].into_iter();
        let tables = tables.filter(|(_, said)| !said.is_empty());
        forms.extend(tables.map(|(table, said)| (table, format!("{{ {} }}", said.join(", ")))));
        forms
    }

    /// The keys that say how messages of this form are read, and not how they are written.
    fn on_arrival(&self, line: &mut impl FnMut(&str, String)) {
        let unsigned: Vec<String> = self.unsigned().cloned().collect();
        if !unsigned.is_empty() {
            line("unsigned", list(&unsigned));
        }
        if !self.ids.is_empty() {
            let ids: Vec<String> = self.ids.iter().map(|id| quoted(id)).collect();
            line("ids", format!("[{}]", ids.join(", ")));
        }
        if self.several_signatures {
            line("several_signatures", "true".to_owned());
        }
    }

    /// The value of `username_token`, where a password as text lacks what ours have.
    fn username_token(&self) -> Option<String> {
        let TokenForm {
            nonce,
            created,
            implied_text,
        } = self.token?;
        let items = (!(nonce && created)).then(|| format!("nonce = {nonce}, created = {created}"));
        let kind = implied_text.then(|| "implied_text = true".to_owned());
        let said: Vec<String> = [items, kind].into_iter().flatten().collect();
        let is_said = self.password == Some(Password::Text) && !said.is_empty();
        is_said.then(|| format!("{{ {} }}", said.join(", ")))
    }

    /// The value of `header_order`, where our messages are to have another order than the usual.
    fn header_order(&self) -> Option<String> {
        let by_policy = self.takes_a_policy() || self.several_signatures;
        let order = self
            .order
            .value(self.signs_first, |item| self.has_item(item));
        order.filter(|_| !by_policy)
    }

    /// Whether messages of the sender's file have an item of their header.
    fn has_item(&self, item: OrderedItem) -> bool {
        let by_user = self.password.is_some();
        // The mechanism of users signs and encrypts what the file names.
        let signs = self.signs && !(by_user && self.signed.is_empty());
        let encrypts = self.encrypts && !(by_user && self.encrypted.is_empty());
        let by_token = |reference: Option<Reference>, usual: &'static str| {
            let name = match reference {
                Some(Reference::Known(name)) => name,
                _ => usual,
            };
            !self.has_shared_key() && ["direct", "pki-path"].contains(&name)
        };
        match item {
            OrderedItem::Timestamp => self.has_timestamp,
            OrderedItem::Token => signs && by_token(self.signature_reference, "direct"),
            OrderedItem::KeyToken => {
                encrypts && by_token(self.encryption_reference, "issuer-serial")
            }
            OrderedItem::Username => by_user,
            OrderedItem::Key => encrypts,
            OrderedItem::Signature => signs,
            // No file that was learned has assertions.
            _ => false,
        }
    }

    fn places_for_keys(&self, side: Side) -> String {
        let mut text = String::new();
        let (receives, sends) = (side == Side::Receiver, side == Side::Sender);
        if self.has_shared_key() {
            text.push_str("[shared_key]                   # the key that both sides hold\nfile = \"shared.key.bin\"\n\n");
        } else {
            if (receives && self.encrypts) || (sends && self.signs) {
                let why = if receives {
                    "what messages are encrypted to"
                } else {
                    "what signs"
                };
                let _ = writeln!(
                    text,
                    "[identity]                     # {why}\nkey = \"our.key.pem\"\ncertificate = \"our.cert.pem\"\n"
                );
            }
            if sends && self.encrypts {
                text.push_str("[peer]                         # whom to encrypt to\ncertificate = \"peer.cert.pem\"\n\n");
            }
            if receives && self.signs {
                text.push_str("[trust]                        # who may sign: an authority, or pinned = [\"peer.cert.pem\"]\nanchors = [\"ca.cert.pem\"]\n\n");
            }
        }
        if self.password.is_some() {
            text.push_str("[[users]]\nname = \"…\"\npassword_env = \"PASSWORD\"\n\n");
        }
        text
    }
}
