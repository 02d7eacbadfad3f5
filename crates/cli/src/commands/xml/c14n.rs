//! `soapstone xml c14n`: the canonical form of a document, of an element, or of any set of nodes.
//!
//! The rule kept here: a DTD is applied within bounds before anything is written, and external
//! entities are read only from below the folder of the input.

use std::path::PathBuf;

use soapstone::xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, Element, IdAttributes,
    Limits, NodeId, ParseOptions, canonicalize,
};
use soapstone_xmltools::dtd::{self, DeclaredId};
use soapstone_xmltools::nodes::xpath::{Evaluation, Expression, XPathError};
use soapstone_xmltools::nodes::{Tree, canonicalize_nodes};

use super::resolver::Resolver;
use crate::failure::{Failure, Refusal};
use crate::files;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Write the canonical form of a document or of a part of it.

The bytes are exactly those that a signature over the same nodes digests: Canonical XML 1.0 and 1.1 and Exclusive XML \
Canonicalization 1.0, each with and without comments. Entities and default attributes of a DTD are applied.";

const EXAMPLES: &str = "\
Examples:
  soapstone xml c14n in.xml
  soapstone xml c14n --algorithm http://www.w3.org/2001/10/xml-exc-c14n# --inclusive-prefixes \"soap #default\" in.xml
  soapstone xml c14n --algorithm exc-c14n --subtree Body-1 in.xml | sha256sum
  soapstone xml c14n --xpath '(//. | //@* | //namespace::*)[ancestor-or-self::p:part]' --xpath-ns p=urn:parts in.xml

Algorithms, by URI or short name; each with comments, too (c14n-with-comments, …#WithComments):
  c14n       http://www.w3.org/TR/2001/REC-xml-c14n-20010315
  c14n11     http://www.w3.org/2006/12/xml-c14n11
  exc-c14n   http://www.w3.org/2001/10/xml-exc-c14n#";

/// Arguments of `soapstone xml c14n`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The document; standard input if none is named
    #[arg(value_name = "FILE")]
    input: Option<PathBuf>,
    /// Where the canonical form goes; standard output if not named
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The method, by URI or short name
    #[arg(long, value_name = "URI", default_value = "c14n", value_parser = method)]
    algorithm: Canonicalization,
    /// Prefixes that exclusive canonicalization treats as the inclusive one does; #default is the
    /// default namespace
    #[arg(long, value_name = "PREFIXES", default_value = "")]
    inclusive_prefixes: String,
    /// Only the element with this id, or the first one of this name: [first ]{namespace}name
    #[arg(long, value_name = "ID", conflicts_with = "xpath")]
    subtree: Option<String>,
    /// Only the nodes that this expression selects
    #[arg(long, value_name = "XPATH")]
    xpath: Option<String>,
    /// A prefix in that expression
    #[arg(long, value_name = "PREFIX=URI", requires = "xpath", value_parser = namespace)]
    xpath_ns: Vec<(String, String)>,
    /// A further attribute that is an id: name or {namespace}name
    #[arg(long, value_name = "ATTRIBUTE")]
    id_attribute: Vec<String>,
}

/// Bounds for files on disk: deeper and larger than what a message may be, and still bounded.
pub(super) fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.depth = 1000;
    limits.message = 256 << 20;
    limits.expansion = 64 << 20;
    limits.elements = 1 << 24;
    limits
}

fn method(name: &str) -> Result<Canonicalization, String> {
    Canonicalization::from_name(name).ok_or_else(|| {
        let names = Canonicalization::ALL
            .map(Canonicalization::short_name)
            .join(", ");
        format!("expected a URI or one of {names}, found \"{name}\"")
    })
}

fn namespace(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((prefix, uri)) if !prefix.is_empty() => Ok((prefix.to_owned(), uri.to_owned())),
        _ => Err(format!("expected PREFIX=URI, found \"{text}\"")),
    }
}

/// Writes the canonical form.
///
/// # Errors
/// A document that is not well-formed or out of bounds is refused; everything else is a failure.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let limits = limits();
    let source = files::read_at_most(arguments.input.as_deref(), limits.message)?;
    let resolver = Resolver::new(arguments.input.as_deref(), Vec::new(), limits.message);
    let flat = dtd::flatten(&source, &limits, &mut |identifier| {
        resolver.resolve(identifier)
    })
    .map_err(|error| refused(super::operation::dtd_error_name(&error), &error))?;
    let ids = arguments
        .id_attribute
        .iter()
        .fold(IdAttributes::standard(), |ids, attribute| {
            ids.with(attribute)
        });
    let document = Document::parse(
        flat.document,
        &ParseOptions { limits, ids },
        &mut Buffers::default(),
    )
    .map_err(|error| refused(super::operation::parse_error_name(&error), &error))?;
    let prefixes: Vec<&str> = arguments
        .inclusive_prefixes
        .split_ascii_whitespace()
        .collect();
    let mut octets = Vec::with_capacity(source.len());
    if let Some(expression) = &arguments.xpath {
        write_selected(
            &document,
            &flat.ids,
            expression,
            &arguments,
            &prefixes,
            &mut octets,
        )?;
    } else {
        let apex = match &arguments.subtree {
            Some(name) => Apex::Element(subtree(&document, &flat.ids, name)?),
            None => Apex::Document,
        };
        let mut options = C14nOptions::new(arguments.algorithm);
        options.inclusive_prefixes = &prefixes;
        canonicalize(
            &document,
            apex,
            &options,
            &mut C14nScratch::default(),
            &mut octets,
        )
        .map_err(Failure::new)?;
    }
    files::write(arguments.output.as_deref(), &octets)
}

fn write_selected(
    document: &Document,
    declared: &[DeclaredId],
    expression: &str,
    arguments: &Arguments,
    prefixes: &[&str],
    octets: &mut Vec<u8>,
) -> Result<(), Failure> {
    let uri = |prefix: &str| {
        let found = arguments.xpath_ns.iter().find(|(known, _)| known == prefix);
        found.map(|(_, uri)| uri.as_str())
    };
    let wrong =
        |error: XPathError| Failure::new(format_args!("the expression of --xpath: {error}"));
    let expression = Expression::parse(expression, &uri).map_err(wrong)?;
    let tree = Tree::new(document, declared).map_err(|error| refused("too-large", &error))?;
    let set = Evaluation::new(&tree).select(&expression).map_err(wrong)?;
    canonicalize_nodes(&tree, &set, arguments.algorithm, prefixes, octets);
    Ok(())
}

/// The element with this id, or the first one of this expanded name.
fn subtree(document: &Document, declared: &[DeclaredId], name: &str) -> Result<NodeId, Failure> {
    let none = || {
        Failure::new(format_args!(
            "the document has no element with the id or the name {name}"
        ))
    };
    if let Some((namespace, local)) = name
        .strip_prefix("first ")
        .unwrap_or(name)
        .strip_prefix('{')
        .and_then(|rest| rest.rsplit_once('}'))
    {
        let found = document
            .root()
            .descendants()
            .find(|element| element.is(namespace, local));
        return found.map(|element| element.id()).ok_or_else(none);
    }
    if let Some(found) = document
        .by_id(name)
        .map_err(|error| refused("duplicate-id", &error))?
    {
        return Ok(found);
    }
    // A DTD declares ids by the names as written.
    let has_declared_id = |element: &Element<'_>| {
        element.attributes().any(|attribute| {
            attribute.value() == name
                && declared.iter().any(|id| {
                    id.element == element.qualified_name()
                        && id.attribute == attribute.qualified_name()
                })
        })
    };
    document
        .root()
        .descendants()
        .find(has_declared_id)
        .map(|element| element.id())
        .ok_or_else(none)
}

fn refused(name: &str, error: &dyn std::fmt::Display) -> Failure {
    Refusal {
        name: name.to_owned(),
        message: error.to_string(),
        hint: None,
        unsupported: None,
    }
    .into()
}
