//! What a receiver relies on at this layer, each refusal with its exact reason.

use soapstone_crypto::{CryptoError, DigestAlgorithm, SignatureAlgorithm, SymmetricKey, digest};
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, NodeId, ParseOptions,
    canonicalize,
};

use super::*;
use crate::namespaces::{DSIG, XSLT};
use crate::write::{self, ReferenceParts, SignedInfoWriter, TransformParts};

const METHOD: SignatureAlgorithm = SignatureAlgorithm::HmacSha256;

fn key() -> SymmetricKey {
    SymmetricKey::new(b"a shared secret".to_vec()).unwrap()
}

fn parse(text: &str) -> Document {
    Document::parse(
        text.as_bytes().to_vec(),
        &ParseOptions::default(),
        &mut Buffers::new(),
    )
    .unwrap()
}

/// A message with `content` as its body (id `body`), signed with the writers, and a place for more
/// markup.
fn signed(content: &str, transforms: &[TransformParts<'_>]) -> String {
    let body = format!("<b xml:id=\"body\">{content}</b>");
    let unsigned = parse(&format!("<m>{body}</m>"));
    let mut octets = Vec::new();
    let target = unsigned.by_id("body").unwrap().unwrap();
    let options = C14nOptions::new(Canonicalization::Exclusive);
    canonicalize(
        &unsigned,
        Apex::Element(target),
        &options,
        &mut C14nScratch::default(),
        &mut octets,
    )
    .unwrap();
    let digest = digest(DigestAlgorithm::Sha256, &octets).unwrap();
    let mut writer = SignedInfoWriter::new(
        Vec::new(),
        write::Apex::PLAIN,
        Canonicalization::Exclusive,
        METHOD,
        None,
    );
    writer.reference(&ReferenceParts {
        id: None,
        uri: Some("#body"),
        kind: None,
        transforms,
        digest_method: DigestAlgorithm::Sha256,
        digest: digest.as_ref(),
    });
    let info = writer.finish();
    let value = key().sign(METHOD, info.octets(), None).unwrap();
    let mut signature = Vec::new();
    write::signature(None, &info, value.as_ref(), None, &mut signature);
    format!("<m>{}{body}</m>", String::from_utf8(signature).unwrap())
}

const PLAIN: &[TransformParts<'_>] = &[TransformParts::Canonicalization(
    Canonicalization::Exclusive,
    &[],
)];

fn signature_node(document: &Document) -> NodeId {
    document
        .root()
        .descendants()
        .find(|element| element.is(DSIG, "Signature"))
        .unwrap()
        .id()
}

/// Verifies the value and every reference, and says which nodes were signed.
fn verify(text: &str, rules: &Rules) -> Result<Vec<NodeId>, SignatureError> {
    let document = parse(text);
    let signature = Signature::parse(&document, signature_node(&document), rules)?;
    let mut scratch = Scratch::default();
    signature.verify_value(&document, VerificationKey::Secret(&key()), &mut scratch)?;
    let mut nodes = Vec::new();
    for reference in &signature.references {
        let target = reference.target(&document)?;
        reference.verify(&document, target, &mut NoExtension, &mut scratch)?;
        if let Target::Element { node, .. } = target {
            nodes.push(node);
        }
    }
    Ok(nodes)
}

#[test]
fn what_the_writers_sign_verifies() {
    let text = signed("<x y='1'/>", PLAIN);
    let nodes = verify(&text, &Rules::default()).unwrap();
    assert_eq!(nodes, [parse(&text).by_id("body").unwrap().unwrap()]);
}

#[test]
fn altered_content_is_a_digest_mismatch_of_its_reference() {
    let text = signed("pay 10", PLAIN).replace("pay 10", "pay 99");
    match verify(&text, &Rules::default()) {
        Err(SignatureError::DigestMismatch {
            uri,
            expected,
            found,
        }) => {
            assert_eq!(uri, "#body");
            assert_ne!(expected, found);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_altered_reference_is_a_value_mismatch() {
    let text = signed("pay 10", PLAIN)
        .replace("URI=\"#body\"", "URI=\"#ydob\"")
        .replace("xml:id=\"body\"", "xml:id=\"ydob\"");
    assert_eq!(
        verify(&text, &Rules::default()),
        Err(SignatureError::ValueMismatch {
            algorithm: "hmac-sha256"
        })
    );
}

#[test]
fn a_second_signed_info_is_refused() {
    let text = signed("x", PLAIN);
    let start = text.find("<ds:SignedInfo>").unwrap();
    let end = text.find("</ds:SignedInfo>").unwrap() + "</ds:SignedInfo>".len();
    let info = &text[start..end];
    let text = text.replace(info, &format!("{info}{info}"));
    match verify(&text, &Rules::default()) {
        Err(SignatureError::Structure(error)) => {
            assert_eq!(
                error.expected,
                "`ds:SignatureValue` after the one `ds:SignedInfo`"
            );
            assert_eq!(error.found.as_deref(), Some("ds:SignedInfo"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_signed_info_moved_into_an_object_is_refused() {
    let text = signed("x", PLAIN);
    let start = text.find("<ds:SignedInfo>").unwrap();
    let end = text.find("</ds:SignedInfo>").unwrap() + "</ds:SignedInfo>".len();
    let info = text[start..end].to_owned();
    let text = text.replace(&info, "").replace(
        "</ds:Signature>",
        &format!("<ds:Object>{info}</ds:Object></ds:Signature>"),
    );
    match verify(&text, &Rules::default()) {
        Err(SignatureError::Structure(error)) => assert_eq!(error.expected, "`ds:SignedInfo`"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_comment_in_a_digest_is_refused_instead_of_cutting_it() {
    let text = signed("x", PLAIN).replace("<ds:DigestValue>", "<ds:DigestValue><!-- -->");
    match verify(&text, &Rules::default()) {
        Err(SignatureError::Structure(error)) => {
            assert_eq!(
                (error.element.as_str(), error.expected),
                ("ds:DigestValue", "character data only")
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn two_elements_with_the_signed_id_are_refused() {
    let text = signed("x", PLAIN).replace("</m>", "<b xml:id=\"body\">other</b></m>");
    assert_eq!(
        verify(&text, &Rules::default()),
        Err(SignatureError::DuplicateId {
            id: "body".to_owned()
        })
    );
}

#[test]
fn a_reference_to_nothing_is_refused() {
    let text = signed("x", PLAIN).replace("xml:id=\"body\"", "");
    assert_eq!(
        verify(&text, &Rules::default()),
        Err(SignatureError::NotFound {
            id: "body".to_owned()
        })
    );
}

#[test]
fn an_external_reference_is_refused_and_not_fetched() {
    let document =
        parse(&signed("x", PLAIN).replace("URI=\"#body\"", "URI=\"http://example.org/\""));
    let signature =
        Signature::parse(&document, signature_node(&document), &Rules::default()).unwrap();
    let expected = SignatureError::ExternalReference {
        uri: "http://example.org/".to_owned(),
    };
    assert_eq!(signature.references[0].target(&document), Err(expected));
}

#[test]
fn transforms_that_the_rules_do_not_name_are_refused_before_a_key_is_used() {
    for uri in [
        XSLT,
        "http://www.w3.org/TR/1999/REC-xpath-19991116",
        "http://www.w3.org/2000/09/xmldsig#base64",
        "urn:unknown",
    ] {
        let document = parse(&signed(
            "x",
            &[TransformParts::Other {
                uri,
                raw_content: "",
            }],
        ));
        let parsed = Signature::parse(&document, signature_node(&document), &Rules::default());
        assert_eq!(
            parsed.map(drop),
            Err(SignatureError::TransformRefused {
                uri: uri.to_owned()
            })
        );
    }
    let document = parse(&signed("x", &[TransformParts::Enveloped]));
    let refused = Signature::parse(&document, signature_node(&document), &Rules::default());
    let uri = crate::namespaces::ENVELOPED_SIGNATURE.to_owned();
    assert_eq!(
        refused.map(drop),
        Err(SignatureError::TransformRefused { uri })
    );
    let rules = Rules {
        enveloped: true,
        ..Rules::default()
    };
    assert!(Signature::parse(&document, signature_node(&document), &rules).is_ok());
}

#[test]
fn unknown_algorithms_are_named() {
    for (known, element) in [
        (METHOD.uri(), "SignatureMethod"),
        (DigestAlgorithm::Sha256.uri(), "DigestMethod"),
        (Canonicalization::Exclusive.uri(), "CanonicalizationMethod"),
    ] {
        let document = parse(&signed("x", PLAIN).replacen(known, "urn:unknown", 1));
        let parsed = Signature::parse(&document, signature_node(&document), &Rules::default());
        assert_eq!(
            parsed.map(drop),
            Err(SignatureError::UnknownAlgorithm {
                element,
                uri: "urn:unknown".to_owned()
            })
        );
    }
}

#[test]
fn an_hmac_cut_to_one_octet_is_refused() {
    let method = format!("<ds:SignatureMethod Algorithm=\"{}\">", METHOD.uri());
    let cut = |bits: &str| {
        signed("x", PLAIN).replace(
            &method,
            &format!("{method}<ds:HMACOutputLength>{bits}</ds:HMACOutputLength>"),
        )
    };
    let too_short = |bits| {
        Err(SignatureError::Crypto(CryptoError::MacLength {
            bits,
            minimum: 128,
            maximum: 256,
        }))
    };
    assert_eq!(verify(&cut("8"), &Rules::default()), too_short(8));
    assert_eq!(verify(&cut("0"), &Rules::default()), too_short(0));
    assert_eq!(verify(&cut("264"), &Rules::default()), too_short(264));
    let not_a_number = SignatureError::Malformed {
        element: "HMACOutputLength",
        reason: "not a number",
    };
    assert_eq!(verify(&cut("-1"), &Rules::default()), Err(not_a_number));
}

#[test]
fn more_references_than_the_rules_allow_are_refused() {
    let text = signed("x", PLAIN);
    let rules = Rules {
        references: 0,
        ..Rules::default()
    };
    assert_eq!(
        verify(&text, &rules),
        Err(SignatureError::TooMany {
            what: "ds:Reference",
            limit: 0
        })
    );
    let rules = Rules {
        transforms: 0,
        ..Rules::default()
    };
    assert_eq!(
        verify(&text, &rules),
        Err(SignatureError::TooMany {
            what: "ds:Transform",
            limit: 0
        })
    );
}

#[test]
fn a_list_of_more_prefixes_than_a_document_may_have_is_refused() {
    let listing = |prefixes: usize| {
        let list = vec!["p"; prefixes];
        let method = TransformParts::Canonicalization(Canonicalization::Exclusive, &list);
        verify(&signed("content", &[method]), &Rules::default())
    };
    assert!(listing(1024).is_ok());
    let what = "prefixes of ec:InclusiveNamespaces";
    assert_eq!(
        listing(1025).unwrap_err(),
        SignatureError::TooMany { what, limit: 1024 }
    );
}

#[test]
fn a_public_key_never_verifies_an_hmac() {
    let text = signed("x", PLAIN);
    let document = parse(&text);
    let signature =
        Signature::parse(&document, signature_node(&document), &Rules::default()).unwrap();
    let public = soapstone_crypto::PublicKey::ed25519(&[7; 32]).unwrap();
    let refused = signature.verify_value(
        &document,
        VerificationKey::Public(&public),
        &mut Scratch::default(),
    );
    assert!(
        matches!(
            refused,
            Err(SignatureError::Crypto(
                CryptoError::WrongKey { .. } | CryptoError::WrongFamily { .. }
            ))
        ),
        "{refused:?}"
    );
}

#[test]
fn two_canonicalizations_in_a_row_are_not_executed() {
    let exclusive = TransformParts::Canonicalization(Canonicalization::Exclusive, &[]);
    let text = signed("x", &[exclusive, exclusive]);
    let uri = Canonicalization::Exclusive.uri().to_owned();
    assert_eq!(
        verify(&text, &Rules::default()),
        Err(SignatureError::TransformOrder { uri })
    );
}

/// The bytes that a reference with this URI and these transforms digests.
fn digested(body: &str, uri: &str, transforms: &str) -> String {
    let text = format!(
        "<m>{body}<ds:Signature xmlns:ds=\"{DSIG}\"><ds:SignedInfo><ds:CanonicalizationMethod Algorithm=\"{}\"/>\
         <ds:SignatureMethod Algorithm=\"{}\"/><ds:Reference URI=\"{uri}\">{transforms}<ds:DigestMethod Algorithm=\"{}\"/>\
         <ds:DigestValue>AAAAAAAAAAAAAAAAAAAAAAAAAAA=</ds:DigestValue></ds:Reference></ds:SignedInfo><ds:SignatureValue/></ds:Signature></m>",
        Canonicalization::Exclusive.uri(),
        METHOD.uri(),
        DigestAlgorithm::Sha1.uri()
    );
    let document = parse(&text);
    let rules = Rules {
        enveloped: true,
        ..Rules::default()
    };
    let signature = Signature::parse(&document, signature_node(&document), &rules).unwrap();
    let reference = &signature.references[0];
    let mut scratch = Scratch::default();
    let target = reference.target(&document).unwrap();
    let mut octets = Vec::new();
    let (apex, comments) = match target {
        Target::Element { node, comments } => (Apex::Element(node), comments),
        Target::Document { comments } => (Apex::Document, comments),
        Target::Octets(_) => unreachable!(),
    };
    let method = match reference.transforms.last() {
        Some(Transform::Canonicalization(method)) => method.clone(),
        _ => CanonicalizationMethod::new(Canonicalization::Inclusive10),
    };
    let omit: Vec<NodeId> = reference
        .transforms
        .iter()
        .filter(|transform| **transform == Transform::Enveloped)
        .map(|_| signature.node)
        .collect();
    scratch
        .canonicalize(&document, apex, &method, comments, &omit, &mut octets)
        .unwrap();
    // The stream that is digested is the same.
    let found = digest(DigestAlgorithm::Sha1, &octets).unwrap();
    let mut sink = DigestSink::new(reference).unwrap();
    reference
        .transform(&document, target, &mut NoExtension, &mut scratch, &mut sink)
        .unwrap();
    match reference.check(sink) {
        Err(SignatureError::DigestMismatch {
            found: streamed, ..
        }) => {
            assert_eq!(streamed, soapstone_crypto::base64::encode(found.as_ref()));
        }
        other => panic!("{other:?}"),
    }
    String::from_utf8(octets).unwrap()
}

#[test]
fn comments_are_signed_only_where_the_reference_and_the_method_have_them() {
    let body = "<b xml:id=\"b\"><!-- c -->x</b>";
    let without = "<b xml:id=\"b\">x</b>";
    let with_comments = format!(
        "<ds:Transforms><ds:Transform Algorithm=\"{}\"/></ds:Transforms>",
        Canonicalization::ExclusiveWithComments.uri()
    );
    assert_eq!(digested(body, "#b", ""), without);
    assert_eq!(digested(body, "#b", &with_comments), without);
    assert_eq!(digested(body, "#xpointer(id('b'))", ""), without);
    assert_eq!(digested(body, "#xpointer(id('b'))", &with_comments), body);
}

#[test]
fn an_enveloped_signature_is_left_out_of_what_it_signs() {
    let enveloped = format!(
        "<ds:Transforms><ds:Transform Algorithm=\"{}\"/></ds:Transforms>",
        crate::namespaces::ENVELOPED_SIGNATURE
    );
    assert_eq!(digested("<b>x</b>", "", &enveloped), "<m><b>x</b></m>");
}

/// Writes `made of` and the bytes it is given.
struct Quoting;

impl Extension for Quoting {
    fn apply(
        &mut self,
        _: &Document,
        transform: &Transform,
        target: Target<'_>,
        sink: &mut DigestSink,
    ) -> Result<(), String> {
        let Target::Octets(octets) = target else {
            return Err("only bytes".to_owned());
        };
        assert_eq!(transform.uri(), "urn:quote");
        soapstone_xml::Sink::write(sink, b"made of ");
        soapstone_xml::Sink::write(sink, octets);
        Ok(())
    }
}

#[test]
fn a_transform_that_the_caller_supplies_is_executed_by_the_caller() {
    let text = signed(
        "x",
        &[TransformParts::Other {
            uri: "urn:quote",
            raw_content: "",
        }],
    );
    let document = parse(&text);
    let rules = Rules {
        extensions: &["urn:quote"],
        ..Rules::default()
    };
    let signature = Signature::parse(&document, signature_node(&document), &rules).unwrap();
    let mut reference = signature.references[0].clone();
    reference.digest_value = digest(DigestAlgorithm::Sha256, b"made of stone").unwrap();
    let mut scratch = Scratch::default();
    assert_eq!(
        reference.verify(
            &document,
            Target::Octets(b"stone"),
            &mut Quoting,
            &mut scratch
        ),
        Ok(())
    );
    let target = reference.target(&document).unwrap();
    let refused = SignatureError::Extension {
        uri: "urn:quote".to_owned(),
        reason: "only bytes".to_owned(),
    };
    assert_eq!(
        reference.verify(&document, target, &mut Quoting, &mut scratch),
        Err(refused)
    );
}
