//! What the four operations of XML-Security have in common: where they begin, what they may refer
//! to, whom they trust.
//!
//! The rule kept here: every option is `xmlsec1`'s, with its name and its meaning; what is left out
//! keeps the safe default.

use std::path::{Path, PathBuf};

use clap::ArgAction;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use soapstone::crypto::CryptoError;
use soapstone::wss::{EnvelopeError, Rejected};
use soapstone::xml::{ParseError, Problem};
use soapstone::xmlsec::dsig::SignatureError;
use soapstone::xmlsec::enc::EncryptionError;
use soapstone::xmlsec::keyinfo::KeyInfoError;
use soapstone_xmltools::dtd::DtdError;
use soapstone_xmltools::generic::{
    EnabledKeyData, EnabledUris, GenericError, IdAttribute, Keys, Options, Session, StartNode,
};

use super::keys::KeyArguments;
use super::resolver::Resolver;
use super::spelling::Named;
use crate::failure::{Failure, Refusal};
use crate::files;

/// Options of all four operations.
#[derive(Debug, clap::Args)]
pub(super) struct OperationArguments {
    /// The file to work on; standard input if none is named
    #[arg(value_name = "FILE")]
    input: Option<PathBuf>,
    /// Where the result goes; standard output if not named
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    keys: KeyArguments,
    #[command(flatten)]
    start: StartArguments,
    #[command(flatten)]
    references: ReferenceArguments,
    #[command(flatten)]
    trust: TrustArguments,
}

/// Where the operation begins.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Where to begin")]
struct StartArguments {
    /// Begin at the element with this id
    #[arg(long, value_name = "ID", group = "start")]
    node_id: Option<String>,
    /// Begin at the first element of this name
    #[arg(long, value_name = "[NAMESPACE:]NAME", group = "start")]
    node_name: Option<String>,
    /// Begin at the first node that this expression selects
    #[arg(long, value_name = "XPATH", group = "start")]
    node_xpath: Option<String>,
    /// The attribute after the colon (`id` if none) is an id on such elements; * is every element
    #[arg(long, value_name = "[NAMESPACE:]NODE")]
    id_attr: Vec<Named>,
}

/// What may be referred to.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "References")]
struct ReferenceArguments {
    /// The file that stands for the URL after the colon
    #[arg(long, value_name = "FILE")]
    url_map: Vec<Named>,
    /// References that signatures may have: empty,same-doc,local,remote,any [default:
    /// empty,same-doc]
    #[arg(long, value_name = "LIST", value_parser = enabled_uris)]
    enabled_reference_uris: Option<EnabledUris>,
    /// The same for the cipher text of encrypted elements
    #[arg(long, value_name = "LIST", value_parser = enabled_uris)]
    enabled_cipher_reference_uris: Option<EnabledUris>,
    /// The same for RetrievalMethod
    #[arg(long, alias = "enabled-retrieval-uris", value_name = "LIST", value_parser = enabled_uris)]
    enabled_retrieval_method_uris: Option<EnabledUris>,
    /// The same for KeyInfoReference
    #[arg(long, value_name = "LIST", value_parser = enabled_uris)]
    enabled_key_info_reference_uris: Option<EnabledUris>,
    /// Leave Manifest elements alone
    #[arg(long)]
    ignore_manifests: bool,
    /// Accepted for the sake of command lines made for xmlsec1; the transform that it concerns is
    /// not supported
    #[arg(long, hide = true)]
    relationship_legacy: bool,
}

/// Whom and what to trust.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Trust")]
struct TrustArguments {
    /// Key information that is read from the message, such as x509,key-name,rsa
    #[arg(long, value_name = "LIST", value_parser = key_data)]
    enabled_key_data: Option<EnabledKeyData>,
    /// Use any suitable key given here when the message leads to none of them
    #[arg(long)]
    lax_key_search: bool,
    /// Do not verify certificates: the sender of the message may then choose its key
    #[arg(long)]
    insecure: bool,
    /// Verify the certificates of the keys given here, too
    #[arg(long)]
    verify_keys: bool,
    /// Refuse a path if a revocation list of its issuer is not signed by the issuer, or is out of
    /// date; without this, such a list is passed over
    #[arg(long)]
    verify_crls: bool,
    /// The time at which certificates must be valid, in local time: "YYYY-MM-DD HH:MM:SS"
    #[arg(long, value_name = "TIME", value_parser = local_time, conflicts_with = "verification_gmt_time")]
    verification_time: Option<Timestamp>,
    /// The same in GMT
    #[arg(long, value_name = "TIME", value_parser = universal_time)]
    verification_gmt_time: Option<Timestamp>,
    /// Do not look at the validity period of certificates
    #[arg(long = "X509-skip-time-checks", action = ArgAction::SetTrue)]
    skip_time_checks: bool,
    /// The shortest truncated HMAC that is accepted
    #[arg(long, value_name = "BITS")]
    hmac_min_out_len: Option<u32>,
    /// Read and write ECDSA and DSA signature values in ASN.1
    #[arg(long = "enable-asn1-signatures-hack", action = ArgAction::SetTrue)]
    asn1_signatures: bool,
}

/// An operation with everything that it was given, read.
pub(super) struct Operation {
    pub(super) input: Vec<u8>,
    keys: Keys,
    pub(super) options: Options,
    resolver: Resolver,
}

impl Operation {
    /// Runs an operation with these keys and options.
    pub(super) fn session<T>(
        &mut self,
        operate: impl FnOnce(&mut Session<'_>) -> Result<T, GenericError>,
    ) -> Result<T, GenericError> {
        operate(&mut Session::new(
            &self.keys,
            &self.options,
            &mut self.resolver,
        ))
    }
}

impl OperationArguments {
    /// Where the result goes.
    pub(super) fn output(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Reads input, keys and options.
    ///
    /// # Errors
    /// [`Failure`] naming the first file that cannot be read or is not what it should be.
    pub(super) fn prepare(&self) -> Result<Operation, Failure> {
        let options = self.options()?;
        let keys = self.keys.load(&options)?;
        let input = files::read_at_most(self.input.as_deref(), options.limits.message)?;
        let mapped = self
            .references
            .url_map
            .iter()
            .map(|Named { name, value }| match name {
                Some(url) => Ok((url.clone(), PathBuf::from(value))),
                None => Err(Failure::new(format_args!(
                    "expected --url-map:URL FILE, found no URL for {value}"
                ))),
            });
        let mapped = mapped.collect::<Result<Vec<_>, _>>()?;
        let resolver = Resolver::new(self.input.as_deref(), mapped, options.limits.message);
        Ok(Operation {
            input,
            keys,
            options,
            resolver,
        })
    }

    fn options(&self) -> Result<Options, Failure> {
        let (start, references, trust) = (&self.start, &self.references, &self.trust);
        let mut options = Options::new(Timestamp::now());
        options.limits = super::c14n::limits();
        options.id_attributes = start.id_attr.iter().map(id_attribute).collect();
        options.start = match (&start.node_id, &start.node_name, &start.node_xpath) {
            (Some(id), ..) => StartNode::Id(id.clone()),
            (_, Some(name), _) => named_start(name),
            (_, _, Some(expression)) => StartNode::XPath(expression.clone()),
            _ => StartNode::First,
        };
        options.reference_uris = references
            .enabled_reference_uris
            .unwrap_or(options.reference_uris);
        options.cipher_reference_uris = references
            .enabled_cipher_reference_uris
            .unwrap_or(options.cipher_reference_uris);
        options.retrieval_method_uris = references
            .enabled_retrieval_method_uris
            .unwrap_or(options.retrieval_method_uris);
        options.key_info_reference_uris = references
            .enabled_key_info_reference_uris
            .unwrap_or(options.key_info_reference_uris);
        options.ignore_manifests = references.ignore_manifests;
        options.key_data = trust.enabled_key_data.clone().unwrap_or_default();
        options.lax_key_search = trust.lax_key_search;
        options.insecure = trust.insecure;
        options.verify_keys = trust.verify_keys;
        options.verify_revocation_lists = trust.verify_crls;
        options.skip_time_checks = trust.skip_time_checks;
        options.hmac_minimum_bits = trust.hmac_min_out_len.unwrap_or(options.hmac_minimum_bits);
        options.asn1_signatures = trust.asn1_signatures;
        if let Some(time) = trust.verification_time.or(trust.verification_gmt_time) {
            options.verification_time = time;
        }
        Ok(options)
    }
}

fn named_start(name: &str) -> StartNode {
    let (namespace, local) = qualified(name);
    StartNode::Name { namespace, local }
}

/// `--id-attr[:ATTRIBUTE] [NAMESPACE:]NODE`, where `*` is every node.
fn id_attribute(id: &Named) -> IdAttribute {
    let attribute = id.name.clone().unwrap_or_else(|| "id".to_owned());
    if id.value == "*" {
        return IdAttribute {
            attribute,
            element: None,
        };
    }
    let (namespace, local) = qualified(&id.value);
    IdAttribute {
        attribute,
        element: Some((namespace.unwrap_or_default(), local)),
    }
}

/// Takes `[NAMESPACE:]NAME` apart; a namespace may hold colons, a name may not.
fn qualified(name: &str) -> (Option<String>, String) {
    match name.rsplit_once(':') {
        Some((namespace, local)) => (Some(namespace.to_owned()), local.to_owned()),
        None => (None, name.to_owned()),
    }
}

fn enabled_uris(list: &str) -> Result<EnabledUris, String> {
    EnabledUris::from_list(list)
        .map_err(|word| format!("expected empty, same-doc, local, remote or any, found \"{word}\""))
}

fn key_data(list: &str) -> Result<EnabledKeyData, String> {
    EnabledKeyData::from_list(list).map_err(|word| {
        format!("expected names such as x509, key-name or key-value, found \"{word}\"")
    })
}

fn universal_time(text: &str) -> Result<Timestamp, String> {
    moment(text, TimeZone::UTC)
}

fn local_time(text: &str) -> Result<Timestamp, String> {
    moment(text, TimeZone::system())
}

/// Reads `YYYY-MM-DD HH:MM:SS`, where a plus sign may stand for the space.
fn moment(text: &str, zone: TimeZone) -> Result<Timestamp, String> {
    let time: Result<DateTime, _> = text.replace('+', " ").parse();
    let time = time.ok().and_then(|time| zone.to_timestamp(time).ok());
    time.ok_or_else(|| format!("expected a time like \"2026-11-20 12:00:00\", found \"{text}\""))
}

/// What an operation's error is for the caller: a message that is refused, or an operation that
/// cannot be carried out.
pub(super) fn failure(error: &GenericError) -> Failure {
    let unsupported = unsupported(error);
    if !error.is_refusal() && unsupported.is_none() {
        return Failure::new(error);
    }
    let hint = match error {
        GenericError::KeyNotFound => Some(
            "keys are given with --privkey-pem, --pubkey-cert-pem, --hmackey …; --lax-key-search takes any that fits",
        ),
        GenericError::Untrusted { .. } => Some(
            "anchors are given with --trusted-pem, other certificates of the path with --untrusted-pem",
        ),
        GenericError::UriNotEnabled { .. } => Some(
            "--enabled-reference-uris says which references are followed, --url-map what stands for a URL",
        ),
        _ => None,
    };
    Failure::from(Refusal {
        name: name(error).to_owned(),
        message: error.to_string(),
        hint: hint.map(str::to_owned),
        unsupported: unsupported.map(str::to_owned),
    })
}

/// Stable name of the reason; where WS-Security has the same reason, it has the same name.
fn name(error: &GenericError) -> &'static str {
    match error {
        GenericError::Parse(error) => parse_error_name(error),
        GenericError::Dtd(error) => dtd_error_name(error),
        GenericError::Signature(error) => Rejected::Signature(error.clone()).name(),
        GenericError::Encryption(error) => Rejected::Encryption(error.clone()).name(),
        GenericError::KeyInfo(_) => "key-info",
        GenericError::Crypto(_) => "key-misused",
        GenericError::KeyNotFound => "key-not-found",
        GenericError::Untrusted { .. } => "untrusted",
        GenericError::UriNotEnabled { .. } => "reference-not-enabled",
        GenericError::Unresolved { .. } => "reference-not-found",
        GenericError::XPath { .. } => "xpath",
        GenericError::TooLarge => "too-large",
        GenericError::TransformRefused { .. } => "transform-refused",
        GenericError::TooDeep { .. } => "too-deep",
        _ => "refused",
    }
}

/// The same for a document that cannot be read.
pub(super) fn parse_error_name(error: &ParseError) -> &'static str {
    Rejected::Envelope(EnvelopeError::Xml(error.clone())).name()
}

/// Documents are read with their DTD, if they have one: what is wrong with them need not be.
pub(super) fn dtd_error_name(error: &DtdError) -> &'static str {
    match error {
        DtdError::Encoding {
            problem:
                Problem::MalformedEncoding { .. }
                | Problem::WrongEncoding { .. }
                | Problem::UnsupportedEncoding { .. },
            ..
        } => "malformed-encoding",
        DtdError::Encoding { .. }
        | DtdError::Syntax { .. }
        | DtdError::Unbalanced { .. }
        | DtdError::Undeclared { .. } => "not-well-formed",
        _ => "dtd",
    }
}

/// The algorithm or feature that we do not have, where that is the reason.
pub(super) fn unsupported(error: &GenericError) -> Option<&str> {
    match error {
        GenericError::TransformRefused { uri }
        | GenericError::Signature(
            SignatureError::UnknownAlgorithm { uri, .. } | SignatureError::TransformRefused { uri },
        )
        | GenericError::Encryption(EncryptionError::UnknownAlgorithm { uri, .. })
        | GenericError::KeyInfo(
            KeyInfoError::UnknownAlgorithm { uri, .. } | KeyInfoError::UnknownCurve { uri },
        ) => Some(uri),
        GenericError::Crypto(CryptoError::Unsupported { what })
        | GenericError::Signature(SignatureError::Crypto(CryptoError::Unsupported { what }))
        | GenericError::KeyInfo(KeyInfoError::Crypto(CryptoError::Unsupported { what })) => {
            Some(what)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_xmlsec1_writes_them() {
        let time = "2019-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(universal_time("2019-01-01+00:00:00"), Ok(time));
        assert_eq!(universal_time("2019-01-01 00:00:00"), Ok(time));
        assert_eq!(
            universal_time("yesterday"),
            Err("expected a time like \"2026-11-20 12:00:00\", found \"yesterday\"".to_owned())
        );
    }

    #[test]
    fn a_start_name_may_hold_a_namespace_with_colons() {
        let StartNode::Name { namespace, local } =
            named_start("http://www.w3.org/2000/09/xmldsig#:Signature")
        else {
            panic!("a name")
        };
        assert_eq!(
            namespace.as_deref(),
            Some("http://www.w3.org/2000/09/xmldsig#")
        );
        assert_eq!(local, "Signature");
    }
}
