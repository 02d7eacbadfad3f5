//! The grammar of element paths: from an expression to steps and conditions.

use super::error::{DEEPEST, MOST_STEPS, PathError};
use super::steps::{Condition, Step};

/// Reads the steps of an expression without white space around it.
pub(super) fn read(
    text: &str,
    namespace: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<Step>, PathError> {
    Reader {
        text,
        at: 0,
        namespace,
    }
    .path()
}

struct Reader<'r> {
    text: &'r str,
    at: usize,
    namespace: &'r dyn Fn(&str) -> Option<String>,
}

impl<'r> Reader<'r> {
    fn path(&mut self) -> Result<Vec<Step>, PathError> {
        let mut steps = Vec::new();
        if !self.text.starts_with('/') {
            return Err(PathError::NotAbsolute {
                expression: self.text.to_owned(),
            });
        }
        while !self.rest().is_empty() {
            let descendant = if self.take("//") {
                true
            } else if self.take("/") {
                false
            } else {
                return Err(self.unsupported());
            };
            if steps.len() == MOST_STEPS {
                return Err(PathError::TooManySteps);
            }
            steps.push(self.step(descendant)?);
            self.space();
        }
        Ok(steps)
    }

    fn step(&mut self, descendant: bool) -> Result<Step, PathError> {
        self.space();
        let start = self.at;
        if self.take("child") {
            self.space();
            if self.take("::") {
                self.space();
            } else {
                // A name that begins so.
                self.at = start;
            }
        }
        let (namespace, local) = if self.take("*") {
            (None, None)
        } else {
            let start = self.at;
            let first = self.name()?;
            if self.rest().starts_with("::") || self.rest().trim_start().starts_with('(') {
                return Err(PathError::Unsupported {
                    found: self.text[start..].to_owned(),
                    at: start,
                });
            }
            if self.take(":") {
                let namespace = Some(self.resolve(first)?);
                if self.take("*") {
                    (namespace, None)
                } else {
                    (namespace, Some(self.name()?.to_owned()))
                }
            } else {
                (Some(String::new()), Some(first.to_owned()))
            }
        };
        let mut predicates = Vec::new();
        loop {
            self.space();
            if !self.take("[") {
                break;
            }
            predicates.push(self.either(0)?);
            self.space();
            self.demand("]", "`]`")?;
        }
        Ok(Step {
            descendant,
            namespace,
            local,
            predicates,
        })
    }

    /// Conditions joined by `or`.
    fn either(&mut self, depth: usize) -> Result<Condition, PathError> {
        let mut conditions = vec![self.all(depth)?];
        while self.word("or") {
            conditions.push(self.all(depth)?);
        }
        Ok(joined(conditions, Condition::Or))
    }

    /// Conditions joined by `and`.
    fn all(&mut self, depth: usize) -> Result<Condition, PathError> {
        let mut conditions = vec![self.condition(depth)?];
        while self.word("and") {
            conditions.push(self.condition(depth)?);
        }
        Ok(joined(conditions, Condition::And))
    }

    fn condition(&mut self, depth: usize) -> Result<Condition, PathError> {
        if depth == DEEPEST {
            return Err(PathError::TooDeep);
        }
        self.space();
        let start = self.at;
        if self.take("(") {
            let inside = self.either(depth + 1)?;
            self.space();
            self.demand(")", "`)`")?;
            return Ok(inside);
        }
        if self.take("@") {
            let first = self.name()?;
            let (namespace, local) = if self.take(":") {
                (self.resolve(first)?, self.name()?.to_owned())
            } else {
                (String::new(), first.to_owned())
            };
            return Ok(match self.comparison()? {
                None => Condition::Attribute {
                    namespace,
                    local,
                    value: None,
                },
                Some((true, value)) => Condition::Attribute {
                    namespace,
                    local,
                    value: Some(value),
                },
                Some((false, value)) => Condition::AttributeDiffers {
                    namespace,
                    local,
                    value,
                },
            });
        }
        if self.function("not") {
            let inside = self.either(depth + 1)?;
            self.space();
            self.demand(")", "`)`")?;
            return Ok(Condition::Not(Box::new(inside)));
        }
        type Compare = fn(String) -> Condition;
        let compare: Compare = if self.function("local-name") {
            Condition::LocalName
        } else if self.function("namespace-uri") {
            Condition::NamespaceUri
        } else {
            return Err(self.unsupported());
        };
        self.space();
        self.demand(")", "`)`")?;
        match self.comparison()? {
            Some((true, value)) => Ok(compare(value)),
            Some((false, value)) => Ok(Condition::Not(Box::new(compare(value)))),
            None => Err(PathError::Unsupported {
                found: self.text[start..].to_owned(),
                at: start,
            }),
        }
    }

    /// `= 'literal'` (true) or `!= 'literal'` (false), if one stands here.
    fn comparison(&mut self) -> Result<Option<(bool, String)>, PathError> {
        self.space();
        let equal = if self.take("=") {
            true
        } else if self.take("!=") {
            false
        } else {
            return Ok(None);
        };
        self.space();
        let rest = self.rest();
        let quote = match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => quote,
            _ => return Err(self.unsupported()),
        };
        let value = rest[1..].split(quote).next().unwrap_or_default();
        if value.len() + 1 == rest.len() {
            return Err(PathError::Syntax {
                expected: "the end of the literal",
                at: self.text.len(),
            });
        }
        self.at += value.len() + 2;
        Ok(Some((equal, value.to_owned())))
    }

    /// Whether the call of a function starts here; goes behind its parenthesis.
    fn function(&mut self, name: &str) -> bool {
        let start = self.at;
        if self.take(name) {
            self.space();
            if self.take("(") {
                return true;
            }
        }
        self.at = start;
        false
    }

    /// Whether an operator that is a word stands here; goes behind it.
    fn word(&mut self, word: &str) -> bool {
        let start = self.at;
        self.space();
        if self.take(word) && !self.rest().starts_with(is_name_character) {
            return true;
        }
        self.at = start;
        false
    }

    fn resolve(&self, prefix: &str) -> Result<String, PathError> {
        (self.namespace)(prefix).ok_or_else(|| PathError::UnknownPrefix {
            prefix: prefix.to_owned(),
        })
    }

    fn name(&mut self) -> Result<&'r str, PathError> {
        let rest = self.rest();
        let end = rest
            .find(|character| !is_name_character(character))
            .unwrap_or(rest.len());
        let name = &rest[..end];
        match name.chars().next() {
            Some(first) if first.is_alphabetic() || first == '_' => {
                self.at += end;
                Ok(name)
            }
            Some(_) => Err(self.unsupported()),
            None if rest.is_empty() => Err(PathError::Syntax {
                expected: "a name",
                at: self.at,
            }),
            None => Err(self.unsupported()),
        }
    }

    fn rest(&self) -> &'r str {
        &self.text[self.at..]
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn demand(&mut self, token: &str, expected: &'static str) -> Result<(), PathError> {
        if self.take(token) {
            return Ok(());
        }
        if self.rest().is_empty() {
            return Err(PathError::Syntax {
                expected,
                at: self.at,
            });
        }
        Err(self.unsupported())
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    fn unsupported(&self) -> PathError {
        PathError::Unsupported {
            found: self.rest().to_owned(),
            at: self.at,
        }
    }
}

fn joined(mut conditions: Vec<Condition>, join: fn(Vec<Condition>) -> Condition) -> Condition {
    if conditions.len() == 1 {
        conditions.remove(0)
    } else {
        join(conditions)
    }
}

/// XML Namespaces, 3: what an NCName is made of, near enough for finding its end.
fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '\u{b7}')
}
