//! Refusals and their reasons: tokens at the wrong service, tokens in the wrong hands, and requests
//! for tokens without a right.
//!
//! The rule kept here: the sender of each message can really make it. The attackers have keys of
//! the same authority, and a token service that works.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use soapstone_services::{Service, SoapVersion, requests};

use super::cast::{
    self, ALICE, BOB, BOOKS, CLERK, KIOSK, MALLORY, SHORTEST, SKEW, STRANGER, STS, Way,
};
use super::processes::Gateway;
use super::requester::{self, Answer, Fault};
use super::token::{self, Token};
use super::told::{Step, Told};
use super::{FEW, Scene};
use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};

/// The life of the token that is renewed: long enough to show it before its end.
const SHORT: u32 = SHORTEST + 1;

impl Scene {
    /// The refusals that need no waiting.
    pub(super) async fn refusals(
        &mut self,
        told: &mut Told,
        front: &Token,
        books: &Token,
    ) -> Result<(), Failure> {
        let title =
            "The front service shows the books service the token that alice's client showed it";
        let step = Step::new("wrong-audience", title);
        let shown = ("front", "bearer", front);
        told.step(self.shown(step, shown, "audience-mismatch").await?);

        let title = format!(
            "{MALLORY}, who has read a message to the books service, shows its token and signs with a key of his own"
        );
        let step = Step::new("stolen", title);
        // The signature names a certificate: that of the token would not verify it.
        let shown = (MALLORY, "bearer", books);
        told.step(self.shown(step, shown, "key-not-found").await?);

        let title = format!(
            "{MALLORY} shows a token of his own token service, which calls itself by the same name"
        );
        let mut step = Step::new("stranger", title);
        let url = signers(&self.processes.stranger);
        let endpoint = cast::signer(MALLORY, STRANGER);
        let asked = self.asked(MALLORY, &endpoint, &url, token::issue(BOOKS, ""));
        let Answer::Given(answer) = asked.await? else {
            return Err(Failure::new("the stranger's token service issues nothing"));
        };
        let strange = Token::of(&answer)?;
        for (name, value) in strange.said() {
            step.say(format!("{name:<10} {value}"));
        }
        let shown = (MALLORY, "holder-of-key", &strange);
        told.step(self.shown(step, shown, "untrusted").await?);

        told.step(self.without_a_rule(front).await?);
        told.step(self.without_the_role().await?);
        Ok(())
    }

    /// A service that may act for nobody asks to act as alice.
    async fn without_a_rule(&mut self, front: &Token) -> Result<Step, Failure> {
        let title = format!(
            "{KIOSK}, which no delegation rule names, asks the token service to act as alice"
        );
        let mut step = Step::new("no-rule", title);
        let url = signers(&self.processes.sts);
        let endpoint = cast::signer(KIOSK, STS);
        let plain = token::issue(BOOKS, &token::acting_as(front));
        match self.asked(KIOSK, &endpoint, &url, plain).await? {
            Answer::Given(_) => step.must(false, "the kiosk gets no token"),
            Answer::Refused(fault) => {
                refused(
                    &mut step,
                    &mut self.processes.sts,
                    "trust-delegation",
                    &fault,
                )
                .await?;
            }
        }
        Ok(step)
    }

    /// A user without the role goes the whole way.
    async fn without_the_role(&mut self) -> Result<Step, Failure> {
        let title = format!("{BOB}, who has a password but not the role, calls as {ALICE} did");
        let mut step = Step::new("no-role", title);
        let before = self.processes.books_tap.last().request;
        let request = requests::get_books(SoapVersion::Soap11, FEW);
        let soap = (SoapVersion::Soap11, Service::Books.soap_action());
        let url = self.url(Way::Bob);
        let (status, body) = self.client.ask(&url, soap, Bytes::from(request)).await?;
        if status.is_success() {
            step.must(false, "bob gets no books");
            return Ok(step);
        }
        let seen = self.processes.front_tap.last();
        let subject = seen.fields.get("X-Subject");
        let subject = subject.and_then(|value| value.to_str().ok());
        step.say(format!(
            "the front service saw   X-Subject: {}",
            subject.unwrap_or("nobody")
        ));
        step.must(subject == Some(BOB), "the front service is called by bob");
        let fault = Fault::of(status, &body)?;
        refused(&mut step, &mut self.processes.books, "not-allowed", &fault).await?;
        self.unseen(&mut step, &before);
        Ok(step)
    }

    /// A token is renewed before its end. Then it ends, and the renewed one goes on.
    pub(super) async fn renewal(&mut self, told: &mut Told) -> Result<(), Failure> {
        let title = format!(
            "{CLERK}, a user with a certificate, asks for a token of {SHORT} seconds and has it renewed"
        );
        let mut step = Step::new("renewed", title);
        let url = signers(&self.processes.sts);
        let endpoint = cast::signer(CLERK, STS);
        let life = token::living(Timestamp::now(), SHORT);
        let short = self.asked(CLERK, &endpoint, &url, token::issue(BOOKS, &life));
        let short = given(short.await?, "a short token")?;
        let renewed = self.asked(CLERK, &endpoint, &url, token::renew(&short));
        let renewed = given(renewed.await?, "a renewed token")?;
        for (name, token) in [("first", &short), ("renewed", &renewed)] {
            step.say(format!(
                "{name:<10} {}, {} s, to {}",
                token.id,
                token.life(),
                token.to
            ));
        }
        step.fact("life", short.life());
        step.fact("renewed_life", renewed.life());
        step.must(
            short.life() == i64::from(SHORT) && renewed.to > short.to,
            "the renewed token holds for longer",
        );
        self.accepted(&mut step, &short, "the first token").await?;
        told.step(step);

        let left = short.to.as_millisecond() - Timestamp::now().as_millisecond();
        let left = u64::try_from(left).unwrap_or_default() + u64::from(SKEW) * 1000;
        tokio::time::sleep(Duration::from_millis(left + 1)).await;
        let step = Step::new(
            "expired",
            format!("{CLERK} shows the first token after its end"),
        );
        let shown = (CLERK, "holder-of-key", &short);
        told.step(self.shown(step, shown, "assertion-expired").await?);

        let mut step = Step::new("goes-on", format!("{CLERK} shows the renewed one"));
        self.accepted(&mut step, &renewed, "the renewed token")
            .await?;
        told.step(step);
        Ok(())
    }

    /// The answer of the token service at a URL to this sender.
    async fn asked(
        &self,
        name: &str,
        endpoint: &str,
        url: &str,
        plain: String,
    ) -> Result<Answer, Failure> {
        let file = format!("{name}-asks");
        requester::send(
            &self.scratch,
            &self.client,
            (&file, endpoint),
            (url, ""),
            plain,
        )
        .await
    }

    /// The answer of the books service's gateway to a sender with a token.
    async fn answer(
        &self,
        (name, confirmation, token): (&str, &str, &Token),
    ) -> Result<Answer, Failure> {
        let assertion = format!("{}.xml", token.id);
        let path = self.scratch.folder().join(&assertion);
        files::create(&path, &token.written, Privacy::Secret, Existing::Replace)?;
        let address = self.processes.books.address();
        let url = format!(
            "https://localhost:{}{}",
            address.port(),
            Way::Watched.path()
        );
        let file = format!("{name}-shows");
        let endpoint = cast::shower(name, "books", &assertion, confirmation);
        let plain = requests::get_books(SoapVersion::Soap11, FEW);
        let to = (&*url, Service::Books.soap_action());
        requester::send(&self.scratch, &self.client, (&file, &endpoint), to, plain).await
    }

    /// A token that the books service's gateway must accept of the clerk.
    async fn accepted(&self, step: &mut Step, token: &Token, what: &str) -> Result<(), Failure> {
        let answer = self.answer((CLERK, "holder-of-key", token)).await?;
        match answer {
            Answer::Given(_) => step.say(format!("the books service answers to {what}")),
            Answer::Refused(fault) => step.must(false, format!("{what} is accepted: {fault}")),
        }
        Ok(())
    }

    /// A token that the books service's gateway must refuse of this sender for this reason.
    async fn shown(
        &mut self,
        mut step: Step,
        shown: (&str, &str, &Token),
        reason: &str,
    ) -> Result<Step, Failure> {
        let before = self.processes.books_tap.last().request;
        match self.answer(shown).await? {
            Answer::Given(_) => step.must(false, "the books service's gateway refuses it"),
            Answer::Refused(fault) => {
                refused(&mut step, &mut self.processes.books, reason, &fault).await?;
            }
        }
        self.unseen(&mut step, &before);
        Ok(step)
    }

    /// The books service saw nothing after this message.
    fn unseen(&self, step: &mut Step, before: &Bytes) {
        step.must(
            self.processes.books_tap.last().request == *before,
            "the books service sees nothing of it",
        );
    }
}

fn signers(sts: &Gateway) -> String {
    format!("https://localhost:{}/signers", sts.address().port())
}

fn given(answer: Answer, what: &str) -> Result<Token, Failure> {
    match answer {
        Answer::Given(message) => Token::of(&message),
        Answer::Refused(fault) => Err(Failure::new(format_args!(
            "the token service gives no {what}: {fault}"
        ))),
    }
}

/// Tells the refusal as its sender reads it, and as the operator of the gateway reads it.
async fn refused(
    step: &mut Step,
    gateway: &mut Gateway,
    reason: &str,
    fault: &Fault,
) -> Result<(), Failure> {
    step.say(format!("told       {fault}"));
    let line = gateway.told(|line| line["status"] != 200).await?;
    let found = line["reason"].as_str().unwrap_or_default().to_owned();
    let detail = gateway.detail().await?;
    step.say(format!("audit      {found}"));
    step.say(format!("log        {detail}"));
    step.must(
        found == reason,
        format!("expected the reason {reason}, found {found}"),
    );
    step.must(
        !fault.words.contains(&detail),
        "the sender is not told the detail",
    );
    step.fact("status", fault.status.as_u16());
    step.fact("fault", fault.code.clone());
    step.fact("reason", found);
    step.fact("detail", detail);
    Ok(())
}
