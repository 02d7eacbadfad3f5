//! `wst:Claims` (WS-Trust 1.4, 9.3): what a token is to say of its subject.
//!
//! The one rule: a claim that says more than its name is refused. A value in it would be the
//! requestor's own word about a subject.

use soapstone_xml::Element;

use super::read::{MessageError, expanded_name, flag};

/// The dialect of identity claims, which is the namespace of its `ClaimType` as well.
pub(crate) const IDENTITY: &str = "http://schemas.xmlsoap.org/ws/2005/05/identity";

/// Most claims of one request. A card of an information card system has some twenty.
const CLAIMS_LIMIT: usize = 64;

/// The claims that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedClaims {
    /// `@Dialect`.
    pub dialect: String,
    /// The claims. In other dialects than that of identity claims, by the `Uri` of each element,
    /// or by its expanded name where it has none.
    pub claims: Vec<RequestedClaim>,
    /// The expanded name of a claim in another dialect that says more than its name; that of the
    /// claims as a whole, where text or an attribute of theirs does.
    pub says_more: Option<String>,
}

/// One claim that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedClaim {
    /// `@Uri`.
    pub uri: String,
    /// `@Optional`: a token without it will do.
    pub optional: bool,
}

impl RequestedClaims {
    /// Whether they are in the dialect of identity claims.
    pub(crate) fn are_of_identity(&self) -> bool {
        self.dialect == IDENTITY
    }

    pub(crate) fn read(element: Element<'_>) -> Result<Self, MessageError> {
        let dialect = element.attribute("", "Dialect");
        let dialect = dialect.as_deref().unwrap_or_default().trim().to_owned();
        let mut claims = Vec::new();
        if dialect != IDENTITY {
            return Self::read_free(dialect, element);
        }
        if says_more_itself(element) {
            let expected = "`ic:ClaimType` alone, and `Dialect`";
            return Err(MessageError::value(element, expected, None));
        }
        for child in element.children() {
            if !child.is(IDENTITY, "ClaimType") || child.first_child().is_some() {
                let expected = "`ic:ClaimType` without content";
                return Err(MessageError::unexpected(expected, child));
            }
            if claims.len() == CLAIMS_LIMIT {
                return Err(MessageError::TooMany {
                    what: "claims",
                    limit: CLAIMS_LIMIT,
                });
            }
            let uri = child.attribute("", "Uri");
            let uri = uri.as_deref().unwrap_or_default().trim().to_owned();
            if uri.is_empty() || uri.len() > super::read::TEXT_LIMIT {
                let expected = "a URI of at most 2048 bytes in `Uri`";
                return Err(MessageError::value(child, expected, None));
            }
            claims.push(RequestedClaim {
                uri,
                optional: flag(child, "Optional", false)?,
            });
        }
        Ok(Self {
            dialect,
            claims,
            says_more: None,
        })
    }

    /// Reads names in another dialect. Which dialects have a meaning is for the service to say, so
    /// that their forms are no mistakes here.
    fn read_free(dialect: String, element: Element<'_>) -> Result<Self, MessageError> {
        let mut claims = Vec::new();
        let mut says_more = says_more_itself(element).then(|| expanded_name(element));
        for child in element.children() {
            if claims.len() == CLAIMS_LIMIT {
                return Err(MessageError::TooMany {
                    what: "claims",
                    limit: CLAIMS_LIMIT,
                });
            }
            let is_said = |name: &str| name == "Uri" || name == "Optional";
            let has_content = child
                .text_strict()
                .is_none_or(|text| !text.trim().is_empty());
            if has_content || child.attributes().any(|one| !is_said(one.qualified_name())) {
                says_more.get_or_insert_with(|| expanded_name(child));
            }
            let uri = child.attribute("", "Uri");
            let uri = uri.map_or_else(|| expanded_name(child), |uri| uri.trim().to_owned());
            if uri.is_empty() || uri.len() > super::read::TEXT_LIMIT {
                let expected = "a name of at most 2048 bytes";
                return Err(MessageError::value(child, expected, None));
            }
            claims.push(RequestedClaim {
                uri,
                optional: flag(child, "Optional", false)?,
            });
        }
        Ok(Self {
            dialect,
            claims,
            says_more,
        })
    }
}

/// Whether `wst:Claims` says something beside its claims: by text of its own, or by an attribute
/// other than `Dialect`.
fn says_more_itself(element: Element<'_>) -> bool {
    let mut attributes = element.attributes();
    attributes.any(|one| one.qualified_name() != "Dialect") || !element.text().trim().is_empty()
}
