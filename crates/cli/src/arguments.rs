//! What can be typed: the commands and the options that all of them share.
//!
//! Each command's own arguments are in its file below [`commands`](crate::commands). The rule kept
//! here: every command says what it is for, how it ends, and shows examples that work as they
//! stand.

use std::net::SocketAddr;

use clap::{Parser, Subcommand};

use crate::commands::{
    agreements, broker, completions, conform, explain, gateway, init, keys, learn, lint, open,
    policy, secure, xml,
};
use crate::logging::LogArguments;
use crate::sibling;

const ABOUT: &str = "\
Soapstone seals SOAP messages.

It signs, encrypts and checks them as WS-Security says: one by one (secure, open), or as a proxy before services \
and behind clients that know nothing of it (gateway). `soapstone demo` shows all of it at work in half a minute.";

const EXAMPLES: &str = "\
Examples:
  soapstone demo                                    see calls travel through two gateways
  soapstone init                                    a gateway and its clients: keys and files
  soapstone keys new ca --ca                        a certificate authority of your own
  soapstone keys new client --signed-by ca          a key and a certificate from it
  soapstone secure --config client.toml in.xml      plain SOAP to secured SOAP
  soapstone open --config server.toml --json in.xml secured SOAP to a verdict
  soapstone explain in.xml                          why its signature does not verify
  soapstone gateway --config gateway.toml           secure a service without touching it

Exit codes:
  0  done, or the message was accepted
  2  the message was refused; the reason is on standard error
  1  anything else, wrong arguments included

`soapstone help COMMAND` says more about each command.";

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "soapstone",
    version,
    about = "Soapstone seals SOAP messages: WS-Security as a tool and as a proxy",
    long_about = ABOUT,
    after_help = EXAMPLES,
    max_term_width = 110
)]
pub struct Arguments {
    /// How and how much is logged.
    #[command(flatten)]
    pub log: LogArguments,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Send real calls through two gateways, under each mechanism, and show what it costs
    Demo(sibling::Words),
    /// Write keys and configuration for a gateway before a service, and for its clients
    #[command(long_about = init::ABOUT)]
    Init(init::Arguments),
    /// Run gateways: give services and clients WS-Security without touching them
    #[command(long_about = gateway::ABOUT)]
    Gateway(gateway::Arguments),
    /// Show which of several backends a gateway may choose, and why
    #[command(subcommand, long_about = broker::ABOUT)]
    Broker(broker::Command),
    /// Verify and show what a gateway recorded of violated agreements
    #[command(subcommand, long_about = agreements::ABOUT)]
    Agreements(agreements::Command),
    /// Keep a registry of services and of those who provide them
    Registry(sibling::Words),
    /// Secure one message: plain SOAP in, secured SOAP out
    #[command(long_about = secure::ABOUT)]
    Secure(secure::Arguments),
    /// Open one message: secured SOAP in, a verdict and plain SOAP out
    #[command(long_about = open::ABOUT)]
    Open(open::Arguments),
    /// Explain why a message does or does not verify, with the likely cause
    #[command(long_about = explain::ABOUT)]
    Explain(explain::Arguments),
    /// Explain a policy or WSDL: what it demands, the plans it compiles to, what is not supported
    #[command(long_about = policy::ABOUT)]
    Policy(policy::Arguments),
    /// Write endpoint files from good messages of a partner
    #[command(long_about = learn::ABOUT)]
    Learn(learn::Arguments),
    /// Hold messages, WSDLs and policies against the WS-I profiles, and messages against AS4
    #[command(long_about = lint::ABOUT)]
    Lint(lint::Arguments),
    /// Hold recorded traffic against one profile: a verdict on every rule
    #[command(long_about = conform::ABOUT)]
    Conform(conform::Arguments),
    /// Make, list and convert keys and certificates
    #[command(subcommand)]
    Keys(keys::Command),
    /// Run the sample services alone (plain SOAP)
    Services(sibling::Words),
    /// Single XML-Security operations, with the flags of xmlsec1
    #[command(subcommand)]
    Xml(Box<xml::Command>),
    /// Measure what each security mechanism costs
    Lab(sibling::Words),
    /// Print a completion script for a shell
    Completions(completions::Arguments),
}

/// Reads an address as a gateway's file has it: names are not looked up.
///
/// # Errors
/// What is expected.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "expected an address and a port, such as 127.0.0.1:9000 or [::1]:9000".to_owned()
    })
}

#[cfg(test)]
#[path = "../tests/common/teaching.rs"]
mod teaching;
