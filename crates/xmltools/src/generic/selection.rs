//! The nodes that an XPath expression selects in a whole document.

use super::error::GenericError;
use crate::nodes::xpath::{Evaluation, Expression, XPathError};
use crate::nodes::{NodeSet, Tree};

/// The nodes that an expression selects.
pub(super) fn select<'u>(
    tree: &Tree<'_>,
    text: &str,
    namespaces: &dyn Fn(&str) -> Option<&'u str>,
) -> Result<NodeSet, GenericError> {
    let failed = |error: XPathError| GenericError::XPath {
        expression: text.to_owned(),
        reason: error.to_string(),
    };
    let expression = Expression::parse(text, namespaces).map_err(failed)?;
    Evaluation::new(tree).select(&expression).map_err(failed)
}
