//! Joins URI references as Canonical XML 1.1 section 2.4 wants it for `xml:base`.
//!
//! RFC 3986 section 5.2 resolves against a base with a scheme. Here the base may itself be
//! relative, and two relative references join to a relative one. System identifiers of nested
//! external entities are joined the same way.
//!
//! The one rule kept here: joining is a function of the two strings. Nothing is looked up and
//! nothing is percent-decoded.

/// The components of a URI reference (RFC 3986 section 3, split as by its appendix B). A fragment
/// is dropped.
struct Reference<'u> {
    scheme: Option<&'u str>,
    authority: Option<&'u str>,
    path: &'u str,
    query: Option<&'u str>,
}

impl<'u> Reference<'u> {
    fn split(text: &'u str) -> Reference<'u> {
        let text = text.split_once('#').map_or(text, |(before, _)| before);
        let (scheme, rest) = match text.find([':', '/', '?']) {
            Some(at) if at > 0 && text[at..].starts_with(':') => {
                (Some(&text[..at]), &text[at + 1..])
            }
            _ => (None, text),
        };
        let (rest, query) = rest
            .split_once('?')
            .map_or((rest, None), |(before, query)| (before, Some(query)));
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                (Some(&rest[..end]), &rest[end..])
            }
            None => (None, rest),
        };
        Reference {
            scheme,
            authority,
            path,
            query,
        }
    }
}

/// Joins `reference` to `base`: the modified algorithm of Canonical XML 1.1 section 2.4.
#[must_use]
pub fn join(base: &str, reference: &str) -> String {
    let base = Reference::split(base);
    let reference = Reference::split(reference);
    let (scheme, authority, path, query);
    if reference.scheme.is_some() {
        (scheme, authority) = (reference.scheme, reference.authority);
        (path, query) = (without_dots(reference.path), reference.query);
    } else if reference.authority.is_some() {
        (scheme, authority) = (base.scheme, reference.authority);
        (path, query) = (without_dots(reference.path), reference.query);
    } else {
        (scheme, authority) = (base.scheme, base.authority);
        if reference.path.is_empty() {
            path = without_dots(base.path);
            query = reference.query.or(base.query);
        } else {
            query = reference.query;
            path = if reference.path.starts_with('/') {
                without_dots(reference.path)
            } else {
                without_dots(&merge(&base, reference.path))
            };
        }
    }
    let mut joined = String::new();
    if let Some(scheme) = scheme {
        joined.push_str(scheme);
        joined.push(':');
    }
    if let Some(authority) = authority {
        joined.push_str("//");
        joined.push_str(authority);
    }
    joined.push_str(&path);
    if let Some(query) = query {
        joined.push('?');
        joined.push_str(query);
    }
    joined
}

/// RFC 3986 section 5.2.3, after a trailing `..` of the base got the slash that it stands for.
fn merge(base: &Reference<'_>, path: &str) -> String {
    if base.path.is_empty() && base.authority.is_some() {
        return format!("/{path}");
    }
    let trailing = base.path == ".." || base.path.ends_with("/..");
    let directory = if trailing {
        base.path
    } else {
        &base.path[..base.path.rfind('/').map_or(0, |slash| slash + 1)]
    };
    format!("{directory}{}{path}", if trailing { "/" } else { "" })
}

/// RFC 3986 section 5.2.4 with the changes of Canonical XML 1.1: leading `..` segments of a
/// relative path stay, several slashes become one, a trailing `..` gets a slash.
fn without_dots(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    let mut directory = false;
    for segment in path.split('/') {
        directory = matches!(segment, "" | "." | "..");
        match segment {
            "" | "." => {}
            ".." => match kept.last() {
                Some(&"..") | None if !absolute => kept.push(".."),
                _ => {
                    kept.pop();
                }
            },
            _ => kept.push(segment),
        }
    }
    let mut clean = String::with_capacity(path.len());
    if absolute {
        clean.push('/');
    }
    clean.push_str(&kept.join("/"));
    if directory && !kept.is_empty() {
        clean.push('/');
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn absolute_references_resolve_as_in_rfc_3986_section_5_4() {
        let base = "http://a/b/c/d;p?q";
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../../g", "http://a/g"),
            ("g/./h", "http://a/b/c/g/h"),
            ("g/../h", "http://a/b/c/h"),
        ] {
            assert_eq!(join(base, reference), expected, "{reference}");
        }
    }

    #[test]
    fn relative_references_join_to_a_relative_reference() {
        for (base, reference, expected) in [
            ("..", "x", "../x"),
            ("..", "../x", "../../x"),
            ("../bar/", "foo", "../bar/foo"),
            ("foo/bar", "..", ""),
            ("foo/bar/", "..", "foo/"),
            ("a", "..", "../"),
            ("sub/outer.dtd", "inner.ent", "sub/inner.ent"),
            ("", "inner.ent", "inner.ent"),
            ("a//b/", "c", "a/b/c"),
            ("http://example.org", "x", "http://example.org/x"),
        ] {
            assert_eq!(join(base, reference), expected, "{base} + {reference}");
        }
    }
}
