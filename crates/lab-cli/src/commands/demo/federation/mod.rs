//! `soapstone demo --federation`: two services in a chain, and a token service that tells the
//! second one who the first user is.
//!
//! A plain client calls by way of a gateway that knows a user's name and password. The front
//! service asks the books service, and the gateway between them asks for a token of that user. The
//! token service, the services and the gateways around them are processes of their own.
//!
//! The rule kept here: the words about tokens and refusals come from messages, audit trails and
//! logs.

mod cast;
mod processes;
mod refusals;
mod requester;
mod times;
mod token;
mod told;

use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;
use soapstone::wss::IdDigest;
use soapstone_services::{Service, SoapVersion, requests};

use self::cast::{ALICE, BOOKS, FRONT, ISSUER, READER, Way};
use self::processes::Processes;
use self::token::Token;
use self::told::{Step, Told};
use super::Arguments;
use crate::failure::Failure;
use crate::files;
use crate::progress::Progress;
use crate::testbed::{Client, Scratch, canonical_body};

/// Books asked for in a call that is looked at.
const FEW: u32 = 2;

/// Everything that the steps share.
struct Scene {
    processes: Processes,
    scratch: Scratch,
    /// A client that trusts the authority of the scratch folder.
    client: Client,
}

/// Starts everything, shows what is accepted and what is refused, and tells what came of it. What
/// runs then keeps running.
///
/// # Errors
/// What cannot be started, and what did not hold that must.
pub(super) async fn show(arguments: &Arguments) -> Result<Running, Failure> {
    let begun = Instant::now();
    let mut progress = Progress::new();
    progress.say("starting two services, two token services and the gateways around them");
    let scratch = Scratch::make("federation")?;
    let processes = Processes::start(&scratch).await?;
    let client = Client::trusting(&[&scratch.authority()])?;
    let mut scene = Scene {
        processes,
        scratch,
        client,
    };
    let mut told = Told::default();
    progress.say("calling as the user of a plain client");
    let (front, books) = scene.chain(&mut told).await?;
    progress.say("showing what is refused");
    scene.refusals(&mut told, &front, &books).await?;
    progress.say("renewing a token and waiting for its end");
    scene.renewal(&mut told).await?;
    progress.say("calling with tokens and without");
    scene.times(&mut told, arguments.count, begun).await?;
    progress.end();
    files::print(match arguments.json {
        true => told.json(),
        false => format!("{}\n{}", scene.introduction(), told.text()),
    })?;
    told.verdict()?;
    Ok(Running(scene))
}

/// The processes that keep running.
pub(super) struct Running(Scene);

impl Running {
    /// How to call it.
    pub(super) fn invitation(&self) -> String {
        let scene = &self.0;
        format!(
            "\nEverything keeps running until Ctrl-C. Send plain SOAP to the gateway of clients, as alice or as bob:\n\n  \
             {}  {}\n\n  curl -H 'Content-Type: text/xml; charset=utf-8' -H 'SOAPAction: \"{}\"' \\\n    --data '{}' \\\n    {}\n\n\
             Keys, certificates, configuration files, logs and audit trails are in\n{}\nuntil then.\n",
            scene.url(Way::Watched),
            scene.url(Way::Bob),
            Service::Books.soap_action(),
            requests::get_books(SoapVersion::Soap11, FEW),
            scene.url(Way::Watched),
            scene.scratch.folder().display()
        )
    }
}

impl Scene {
    /// Where a way begins.
    fn url(&self, way: Way) -> String {
        format!("http://{}{}", self.processes.client.address(), way.path())
    }

    /// Who talks to whom.
    fn introduction(&self) -> String {
        let it = &self.processes;
        format!(
            "Two services in a chain. The client and both services know nothing of tokens; the gateways do.\n\n\
             client -- plain SOAP --> gateway == TLS, bearer ==> gateway -- plain SOAP, X-Subject --> front service\n\
             \x20                        {:<15}            {}\n\
             front service -- plain SOAP --> gateway == TLS, signed ==> gateway -- plain SOAP, X-Subject --> books service\n\
             \x20                               {:<15}            {:<15}                           {}\n\
             The first and the third gateway ask the token service at {} ({ISSUER}).\n",
            it.client.address(),
            it.front.address(),
            it.behind_front.address(),
            it.books.address(),
            it.services.address(),
            it.sts.address(),
        )
    }

    /// What the books service itself answers to a request for so many books.
    async fn expected(&self, count: u32) -> Result<Vec<u8>, Failure> {
        let path = Service::Books.path();
        let url = format!("http://{}{path}", self.processes.services.address());
        self.books(&url, count).await
    }

    /// The books that an answer has, in canonical form.
    async fn books(&self, url: &str, count: u32) -> Result<Vec<u8>, Failure> {
        let request = requests::get_books(SoapVersion::Soap11, count);
        let soap = (SoapVersion::Soap11, Service::Books.soap_action());
        let answer = self.client.post(url, soap, Bytes::from(request)).await?;
        canonical_body(&answer, "getBooks")
    }

    /// The first call of a plain client: both tokens, and what both services saw.
    async fn chain(&mut self, told: &mut Told) -> Result<(Token, Token), Failure> {
        let expected = self.expected(FEW).await?;
        let answer = self.books(&self.url(Way::Watched), FEW).await?;
        let seen = self.processes.front_tap.last();
        let front = Token::of(&seen.request)?;
        let title =
            "A plain client calls the front service, and its gateway asks for a token of alice";
        let mut step = Step::new("front", title);
        let line = self.processes.sts.told(|it| it["route"] == "users").await?;
        issued(&mut step, &line, (ALICE, "password"), &front);
        step.must(
            (&*front.subject, &*front.audience, &*front.confirmation) == (ALICE, FRONT, "bearer"),
            "the token is of alice, for the front service, and its bearer's",
        );
        step.must(front.actor.is_none(), "nobody acts for alice yet");
        saw(&mut step, "front service", &seen.fields, &front);
        told.step(step);

        let seen = self.processes.books_tap.last();
        let books = Token::of(&seen.request)?;
        let title = "The front service calls the books service, and its gateway asks for a token to act as alice";
        let mut step = Step::new("books", title);
        let line = self
            .processes
            .sts
            .told(|it| it["route"] == "signers")
            .await?;
        issued(&mut step, &line, ("CN=front", "certificate"), &books);
        step.must(
            (&*books.subject, &*books.audience, &*books.confirmation)
                == (ALICE, BOOKS, "holder-of-key"),
            "the token is of alice, for the books service, and of the holder of a key",
        );
        step.must(
            books.holder.as_deref() == Some("CN=front"),
            "the key is that of the front service",
        );
        step.must(
            books.actor.as_deref() == Some("certificate CN=front"),
            "the token tells who acts for alice",
        );
        saw(&mut step, "books service", &seen.fields, &books);
        step.must(
            answer == expected,
            "the client gets the answer of the books service",
        );
        told.step(step);
        Ok((front, books))
    }
}

/// Who asked the token service for a token, as its audit trail has it, and what the token says.
fn issued(step: &mut Step, line: &Value, (requester, proof): (&str, &str), token: &Token) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let told = &line["assertions"][0];
    step.say(format!(
        "asked by   {}, shown by {}, for {}",
        text(&line["sender"]),
        match text(&line["proven_by"]).as_str() {
            "user" => "password",
            other => other,
        },
        text(&told["audience"])
    ));
    step.say(format!("token      {}", token.id));
    for (name, value) in token.said() {
        step.say(format!("{name:<10} {value}"));
        step.fact(name, value);
    }
    step.fact("asked_by", line["sender"].clone());
    step.fact("shown_by", line["proven_by"].clone());
    step.fact("life", token.life());
    step.must(
        line["sender"] == requester,
        format!("{requester} asks, by {proof}"),
    );
    // Whoever has the id of a bearer's token may be given the token: the trail has a digest of it.
    let id = match &*token.confirmation {
        "bearer" => IdDigest(&token.id).to_string(),
        _ => token.id.clone(),
    };
    step.must(
        told["id"] == *id
            && told["subject"] == *token.subject
            && told["audience"] == *token.audience,
        "the service sees the token that the token service tells of",
    );
    step.must(token.issuer == ISSUER, "the token is the token service's");
    step.must(
        token.role.as_deref() == Some(READER),
        "the token tells the role of alice",
    );
}

/// Compares the header fields that a service saw with the token of the request.
fn saw(step: &mut Step, who: &str, fields: &HeaderMap, token: &Token) {
    let mut seen = Vec::new();
    for (name, expected) in [
        ("X-Subject", Some(&token.subject)),
        ("X-Issuer", Some(&token.issuer)),
        ("X-Role", token.role.as_ref()),
        ("X-Actor", token.actor.as_ref()),
    ] {
        let value = fields.get(name).and_then(|value| value.to_str().ok());
        // Spaces of a value are percent-encoded in a field.
        let expected = expected.map(|text| text.replace(' ', "%20"));
        step.must(
            value == expected.as_deref(),
            format!("the {who} sees in {name} what the token says"),
        );
        if let Some(value) = value {
            seen.push(format!("{name}: {value}"));
            step.fact(&name.to_lowercase(), value);
        }
    }
    step.say(format!("the {who} saw   {}", seen.join(", ")));
}
