//! The relationships transform of Open Packaging Conventions (ISO/IEC 29500-2), which office
//! documents are signed with.
//!
//! The one rule: what comes out is written from the few values that the transform keeps, never
//! copied from its input.

use soapstone_xml::{Element, escape};

use super::error::GenericError;
use super::source::Source;
use soapstone_xmlsec::dsig::SignatureError;
use soapstone_xmlsec::structure::StructureError;

/// The transform's algorithm.
pub(super) const URI: &str = "http://schemas.openxmlformats.org/package/2006/RelationshipTransform";
/// Relationships parts.
const RELATIONSHIPS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
/// The transform's parameters.
const PARAMETERS: &str = "http://schemas.openxmlformats.org/package/2006/digital-signature";
const XML: &str = "http://www.w3.org/XML/1998/namespace";

/// Keeps the relationships that `transform` names by id or by type, in the order of their ids.
pub(super) fn apply(transform: Element<'_>, part: &Source) -> Result<Vec<u8>, GenericError> {
    let named = |local: &str, attribute: &str| -> Vec<String> {
        let references = transform
            .children()
            .filter(|child| child.is(PARAMETERS, local));
        references
            .filter_map(|child| child.attribute("", attribute))
            .map(std::borrow::Cow::into_owned)
            .collect()
    };
    let ids = named("RelationshipReference", "SourceId");
    let kinds = named("RelationshipsGroupReference", "SourceType");
    let root = part.document.root();
    if !root.is(RELATIONSHIPS, "Relationships") {
        let error = StructureError::new(root, "`Relationships` of an office document", None);
        return Err(SignatureError::Structure(error).into());
    }
    let has = |element: &Element<'_>, attribute: &str, values: &[String]| {
        element
            .attribute("", attribute)
            .is_some_and(|value| values.contains(&value.into_owned()))
    };
    let mut kept: Vec<Element<'_>> = root
        .children()
        .filter(|child| child.is(RELATIONSHIPS, "Relationship"))
        .filter(|child| has(child, "Id", &ids) || has(child, "Type", &kinds))
        .collect();
    kept.sort_by_key(|child| child.attribute("", "Id"));

    let mut octets = b"<Relationships xmlns=\"".to_vec();
    octets.extend_from_slice(RELATIONSHIPS.as_bytes());
    octets.push(b'"');
    write_attributes(root, &mut octets);
    octets.push(b'>');
    for relationship in kept {
        octets.extend_from_slice(b"<Relationship");
        write_attributes(relationship, &mut octets);
        if relationship.attribute("", "TargetMode").is_none() {
            octets.extend_from_slice(b" TargetMode=\"Internal\"");
        }
        octets.extend_from_slice(b"></Relationship>");
    }
    octets.extend_from_slice(b"</Relationships>");
    Ok(octets)
}

/// Attributes of no namespace and of the `xml` namespace; all others are versioning instructions or
/// foreign, and go.
fn write_attributes(element: Element<'_>, octets: &mut Vec<u8>) {
    for attribute in element
        .attributes()
        .filter(|attribute| matches!(attribute.namespace(), "" | XML))
    {
        octets.push(b' ');
        octets.extend_from_slice(attribute.qualified_name().as_bytes());
        octets.extend_from_slice(b"=\"");
        escape::attribute(&attribute.value(), octets);
        octets.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::Options;
    use super::*;

    #[test]
    fn relationships_are_chosen_by_id_and_type_and_sorted_and_completed() {
        let options = Options::new(jiff::Timestamp::UNIX_EPOCH);
        let load = |text: String| Source::load(text.as_bytes(), &options, &mut |_| None).unwrap();
        let transform = load(format!(
            "<t xmlns:m='{PARAMETERS}'><m:RelationshipReference SourceId='b'/><m:RelationshipsGroupReference SourceType='k'/></t>"
        ));
        let part = load(format!(
            "<r:Relationships xmlns:r='{RELATIONSHIPS}' xmlns:f='urn:f' f:x='1'>text<!-- c -->\
             <r:Relationship Id='c' Type='k' Target='1'/><f:foreign/><r:Relationship Id='a' Target='2'/>\
             <r:Relationship Id='b' TargetMode='External' f:y='2'>text</r:Relationship></r:Relationships>"
        ));
        let octets = apply(transform.document.root(), &part).unwrap();
        let expected = format!(
            "<Relationships xmlns=\"{RELATIONSHIPS}\"><Relationship Id=\"b\" TargetMode=\"External\"></Relationship>\
             <Relationship Id=\"c\" Type=\"k\" Target=\"1\" TargetMode=\"Internal\"></Relationship></Relationships>"
        );
        assert_eq!(String::from_utf8(octets).unwrap(), expected);
    }
}
