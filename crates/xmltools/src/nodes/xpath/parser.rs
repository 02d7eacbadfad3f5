//! The grammar of XPath 1.0: tokens in, an expression tree out.
//!
//! Prefixes, function names and numbers of arguments are resolved while parsing, so that only types
//! can still be wrong when the expression is evaluated. Operators of one precedence make one node
//! with many operands; the depth of the tree is the nesting of parentheses, predicates and
//! arguments, and that is bounded.
//!
//! The one rule kept here: the depth of what is returned is at most [`DEPTH`], so evaluating it by
//! recursion is safe.

use super::error::XPathError;
use super::expression::{Axis, Expr, Function, NodeTest, Step, keep_constants};
use super::lexer::{Operator, Token, tokens};
use soapstone_xml::XML_NAMESPACE;

/// Parentheses, predicates and function arguments inside each other. Expressions found in
/// signatures nest up to 5 deep.
pub(super) const DEPTH: usize = 32;

/// Bytes of an expression. The longest known one (XAdES, one clause per countersignature) has some
/// 2,000.
const LENGTH: usize = 64 << 10;

/// Name, function, least and most arguments.
const FUNCTIONS: [(&str, Function, usize, usize); 28] = [
    ("last", Function::Last, 0, 0),
    ("position", Function::Position, 0, 0),
    ("count", Function::Count, 1, 1),
    ("id", Function::Id, 1, 1),
    ("local-name", Function::LocalName, 0, 1),
    ("namespace-uri", Function::NamespaceUri, 0, 1),
    ("name", Function::Name, 0, 1),
    ("string", Function::String, 0, 1),
    ("concat", Function::Concat, 2, usize::MAX),
    ("starts-with", Function::StartsWith, 2, 2),
    ("contains", Function::Contains, 2, 2),
    ("substring-before", Function::SubstringBefore, 2, 2),
    ("substring-after", Function::SubstringAfter, 2, 2),
    ("substring", Function::Substring, 2, 3),
    ("string-length", Function::StringLength, 0, 1),
    ("normalize-space", Function::NormalizeSpace, 0, 1),
    ("translate", Function::Translate, 3, 3),
    ("boolean", Function::Boolean, 1, 1),
    ("not", Function::Not, 1, 1),
    ("true", Function::True, 0, 0),
    ("false", Function::False, 0, 0),
    ("lang", Function::Lang, 1, 1),
    ("number", Function::Number, 0, 1),
    ("sum", Function::Sum, 1, 1),
    ("floor", Function::Floor, 1, 1),
    ("ceiling", Function::Ceiling, 1, 1),
    ("round", Function::Round, 1, 1),
    ("here", Function::Here, 0, 0),
];

/// Resolves the prefix of a name in an expression.
pub(super) type Namespaces<'n, 'u> = &'n dyn Fn(&str) -> Option<&'u str>;

/// Parses an expression. The second value is the number of slots that its constants need.
pub(super) fn parse(
    text: &str,
    namespaces: Namespaces<'_, '_>,
) -> Result<(Expr, usize), XPathError> {
    if text.len() > LENGTH {
        return Err(XPathError::Limit {
            limit: "length",
            maximum: LENGTH as u64,
        });
    }
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        at: 0,
        depth: 0,
        namespaces,
    };
    let mut expression = parser.expression()?;
    if parser.at < parser.tokens.len() {
        return Err(parser.unexpected("an operator or the end of the expression"));
    }
    let mut slots = 0;
    keep_constants(&mut expression, &mut slots);
    Ok((expression, slots))
}

struct Parser<'t, 'n, 'u> {
    text: &'t str,
    tokens: Vec<(Token<'t>, usize)>,
    at: usize,
    depth: usize,
    namespaces: Namespaces<'n, 'u>,
}

/// Binary operators from the weakest to the strongest level (XPath 1.0 section 3.4 and 3.5).
const LEVELS: [&[Operator]; 6] = [
    &[Operator::Or],
    &[Operator::And],
    &[Operator::Equal, Operator::NotEqual],
    &[
        Operator::Less,
        Operator::LessOrEqual,
        Operator::Greater,
        Operator::GreaterOrEqual,
    ],
    &[Operator::Plus, Operator::Minus],
    &[Operator::Multiply, Operator::Divide, Operator::Modulo],
];

impl<'t> Parser<'t, '_, '_> {
    fn expression(&mut self) -> Result<Expr, XPathError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(XPathError::Limit {
                limit: "depth",
                maximum: DEPTH as u64,
            });
        }
        let expression = self.binary(0)?;
        self.depth -= 1;
        Ok(expression)
    }

    fn binary(&mut self, level: usize) -> Result<Expr, XPathError> {
        let Some(operators) = LEVELS.get(level) else {
            return self.unary();
        };
        let first = self.binary(level + 1)?;
        let mut rest = Vec::new();
        while let Some(Token::Operator(operator)) = self.peek() {
            if !operators.contains(&operator) {
                break;
            }
            self.at += 1;
            rest.push((operator, self.binary(level + 1)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        if level > 1 {
            return Ok(Expr::Chain(Box::new(first), rest));
        }
        let operands = std::iter::once(first)
            .chain(rest.into_iter().map(|(_, operand)| operand))
            .collect();
        Ok(if level == 0 {
            Expr::Or(operands)
        } else {
            Expr::And(operands)
        })
    }

    fn unary(&mut self) -> Result<Expr, XPathError> {
        let mut signs = 0_u32;
        while self.eat(Token::Operator(Operator::Minus)) {
            signs += 1;
        }
        let operand = self.union()?;
        Ok(if signs == 0 {
            operand
        } else {
            Expr::Negate {
                odd: signs % 2 == 1,
                operand: Box::new(operand),
            }
        })
    }

    fn union(&mut self) -> Result<Expr, XPathError> {
        let first = self.path()?;
        if self.peek() != Some(Token::Pipe) {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.eat(Token::Pipe) {
            operands.push(self.path()?);
        }
        Ok(Expr::Union(operands))
    }

    /// `PathExpr`: a location path, or a primary expression with predicates and steps.
    fn path(&mut self) -> Result<Expr, XPathError> {
        if let Some(primary) = self.primary()? {
            let predicates = self.predicates()?;
            let mut steps = Vec::new();
            if matches!(self.peek(), Some(Token::Slash | Token::SlashSlash)) {
                self.further_steps(&mut steps)?;
            }
            return Ok(if predicates.is_empty() && steps.is_empty() {
                primary
            } else {
                Expr::Filter {
                    primary: Box::new(primary),
                    predicates,
                    steps,
                }
            });
        }
        let mut steps = Vec::new();
        let absolute = matches!(self.peek(), Some(Token::Slash | Token::SlashSlash));
        if absolute {
            let root_alone = self.peek() == Some(Token::Slash)
                && !self
                    .tokens
                    .get(self.at + 1)
                    .is_some_and(|(token, _)| begins_step(*token));
            if root_alone {
                self.at += 1;
            } else {
                self.further_steps(&mut steps)?;
            }
        } else {
            steps.push(self.step()?);
            self.further_steps(&mut steps)?;
        }
        Ok(Expr::Path { absolute, steps })
    }

    /// `/step` and `//step`, as often as they follow.
    fn further_steps(&mut self, steps: &mut Vec<Step>) -> Result<(), XPathError> {
        loop {
            if self.eat(Token::SlashSlash) {
                steps.push(Step {
                    axis: Axis::DescendantOrSelf,
                    test: NodeTest::Any,
                    predicates: Vec::new(),
                });
            } else if !self.eat(Token::Slash) {
                return Ok(());
            }
            steps.push(self.step()?);
        }
    }

    fn step(&mut self) -> Result<Step, XPathError> {
        if self.eat(Token::Dot) {
            return Ok(Step {
                axis: Axis::ItSelf,
                test: NodeTest::Any,
                predicates: Vec::new(),
            });
        }
        if self.eat(Token::DotDot) {
            return Ok(Step {
                axis: Axis::Parent,
                test: NodeTest::Any,
                predicates: Vec::new(),
            });
        }
        let axis = if self.eat(Token::At) {
            Axis::Attribute
        } else if self.peek_second() == Some(Token::ColonColon) {
            let axis = self.axis()?;
            self.at += 2;
            axis
        } else {
            Axis::Child
        };
        let test = self.node_test()?;
        let predicates = self.predicates()?;
        Ok(Step {
            axis,
            test,
            predicates,
        })
    }

    fn axis(&self) -> Result<Axis, XPathError> {
        let Some(Token::Name {
            prefix: None,
            local,
        }) = self.peek()
        else {
            return Err(self.unexpected("the name of an axis"));
        };
        Ok(match local {
            "ancestor" => Axis::Ancestor,
            "ancestor-or-self" => Axis::AncestorOrSelf,
            "attribute" => Axis::Attribute,
            "child" => Axis::Child,
            "descendant" => Axis::Descendant,
            "descendant-or-self" => Axis::DescendantOrSelf,
            "following" => Axis::Following,
            "following-sibling" => Axis::FollowingSibling,
            "namespace" => Axis::Namespace,
            "parent" => Axis::Parent,
            "preceding" => Axis::Preceding,
            "preceding-sibling" => Axis::PrecedingSibling,
            "self" => Axis::ItSelf,
            _ => return Err(self.unexpected("the name of an axis")),
        })
    }

    fn node_test(&mut self) -> Result<NodeTest, XPathError> {
        let test = match self.peek() {
            Some(Token::Star) => NodeTest::Principal,
            Some(Token::PrefixStar(prefix)) => NodeTest::Namespace(self.namespace(prefix)?),
            Some(Token::Name {
                prefix: None,
                local,
            }) if self.peek_second() == Some(Token::LeftParenthesis) => {
                let test = match local {
                    "node" => NodeTest::Any,
                    "text" => NodeTest::Text,
                    "comment" => NodeTest::Comment,
                    "processing-instruction" => NodeTest::Instruction(None),
                    _ => return Err(self.unexpected("a node test")),
                };
                self.at += 2;
                if let (NodeTest::Instruction(_), Some(Token::Literal(target))) =
                    (&test, self.peek())
                {
                    self.at += 1;
                    self.expect(Token::RightParenthesis, "`)`")?;
                    return Ok(NodeTest::Instruction(Some(target.to_owned())));
                }
                self.expect(Token::RightParenthesis, "`)`")?;
                return Ok(test);
            }
            Some(Token::Name { prefix, local }) => NodeTest::Name {
                namespace: prefix.map_or(Ok(String::new()), |prefix| self.namespace(prefix))?,
                local: local.to_owned(),
            },
            _ => return Err(self.unexpected("a node test")),
        };
        self.at += 1;
        Ok(test)
    }

    fn predicates(&mut self) -> Result<Vec<Expr>, XPathError> {
        let mut predicates = Vec::new();
        while self.eat(Token::LeftBracket) {
            predicates.push(self.expression()?);
            self.expect(Token::RightBracket, "`]`")?;
        }
        Ok(predicates)
    }

    /// A `PrimaryExpr`, or `None` where a location path begins.
    fn primary(&mut self) -> Result<Option<Expr>, XPathError> {
        let expression = match self.peek() {
            Some(Token::LeftParenthesis) => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect(Token::RightParenthesis, "`)`")?;
                return Ok(Some(inner));
            }
            Some(Token::Literal(literal)) => Expr::Literal(literal.to_owned()),
            Some(Token::Number(number)) => Expr::Number(number),
            Some(Token::Variable(name)) => {
                return Err(XPathError::Variable {
                    offset: self.offset(),
                    name: name.to_owned(),
                });
            }
            Some(Token::Name { prefix, local })
                if self.peek_second() == Some(Token::LeftParenthesis) =>
            {
                let node_type = matches!(
                    local,
                    "node" | "text" | "comment" | "processing-instruction"
                );
                return if prefix.is_none() && node_type {
                    Ok(None)
                } else {
                    self.call(prefix, local).map(Some)
                };
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(expression))
    }

    fn call(&mut self, prefix: Option<&str>, local: &str) -> Result<Expr, XPathError> {
        let offset = self.offset();
        let found = FUNCTIONS
            .iter()
            .find(|(name, ..)| *name == local && prefix.is_none());
        let Some((_, function, least, most)) = found else {
            let name =
                prefix.map_or_else(|| local.to_owned(), |prefix| format!("{prefix}:{local}"));
            return Err(XPathError::UnknownFunction { offset, name });
        };
        self.at += 2;
        let mut arguments = Vec::new();
        if !self.eat(Token::RightParenthesis) {
            loop {
                arguments.push(self.expression()?);
                if self.eat(Token::RightParenthesis) {
                    break;
                }
                self.expect(Token::Comma, "`,` or `)`")?;
            }
        }
        if arguments.len() < *least || arguments.len() > *most {
            return Err(XPathError::Arguments {
                offset,
                function: local.to_owned(),
                found: arguments.len(),
            });
        }
        Ok(Expr::Call(*function, arguments))
    }

    fn namespace(&self, prefix: &str) -> Result<String, XPathError> {
        match (self.namespaces)(prefix) {
            Some(uri) => Ok(uri.to_owned()),
            None if prefix == "xml" => Ok(XML_NAMESPACE.to_owned()),
            None => Err(XPathError::UndeclaredPrefix {
                offset: self.offset(),
                prefix: prefix.to_owned(),
            }),
        }
    }

    fn peek(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).map(|(token, _)| *token)
    }

    fn peek_second(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at + 1).map(|(token, _)| *token)
    }

    fn eat(&mut self, token: Token<'_>) -> bool {
        let there = self.peek() == Some(token);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, token: Token<'_>, expected: &'static str) -> Result<(), XPathError> {
        if self.eat(token) {
            Ok(())
        } else {
            Err(self.unexpected(expected))
        }
    }

    fn offset(&self) -> usize {
        self.tokens
            .get(self.at)
            .map_or(self.text.len(), |(_, offset)| *offset)
    }

    fn unexpected(&self, expected: &'static str) -> XPathError {
        let offset = self.offset();
        XPathError::Syntax {
            offset,
            expected,
            found: self.text[offset..].chars().take(16).collect(),
        }
    }
}

fn begins_step(token: Token<'_>) -> bool {
    matches!(
        token,
        Token::Dot
            | Token::DotDot
            | Token::At
            | Token::Star
            | Token::PrefixStar(_)
            | Token::Name { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Expr, XPathError> {
        parse(text, &|prefix| (prefix == "p").then_some("urn:p")).map(|(expression, _)| expression)
    }

    #[test]
    fn operators_bind_as_the_grammar_says() {
        let number = Expr::Number;
        let sum = Expr::Chain(
            Box::new(number(1.0)),
            vec![(
                Operator::Plus,
                Expr::Chain(
                    Box::new(number(2.0)),
                    vec![(Operator::Multiply, number(3.0))],
                ),
            )],
        );
        assert_eq!(parsed("1+2*3"), Ok(sum.clone()));
        assert_eq!(
            parsed("1 + 2 * 3 = 7 or 1"),
            Ok(Expr::Or(vec![
                Expr::Chain(Box::new(sum), vec![(Operator::Equal, number(7.0))]),
                number(1.0)
            ]))
        );
    }

    #[test]
    fn deep_nesting_is_refused_and_long_chains_are_not() {
        let depth = Err(XPathError::Limit {
            limit: "depth",
            maximum: 32,
        });
        assert_eq!(
            parsed(&format!("{}1{}", "(".repeat(1000), ")".repeat(1000))),
            depth
        );
        assert_eq!(parsed(&"a[".repeat(1000)), depth);
        assert_eq!(parsed(&"not(".repeat(1000)), depth);
        assert!(parsed(&format!("1{}", " or 1".repeat(10_000))).is_ok());
        assert!(parsed(&format!("{}1", "-".repeat(60_000))).is_ok());
        assert!(parsed(&format!("a{}", "/a".repeat(30_000))).is_ok());
        assert_eq!(
            parsed(&" ".repeat(70_000)),
            Err(XPathError::Limit {
                limit: "length",
                maximum: 65_536
            })
        );
    }

    #[test]
    fn names_that_cannot_be_resolved_are_refused_while_parsing() {
        let offset = 4;
        assert_eq!(
            parsed("a | q:b"),
            Err(XPathError::UndeclaredPrefix {
                offset,
                prefix: "q".into()
            })
        );
        assert_eq!(
            parsed("1 + frob(2)"),
            Err(XPathError::UnknownFunction {
                offset,
                name: "frob".into()
            })
        );
        assert_eq!(
            parsed("1 + count()"),
            Err(XPathError::Arguments {
                offset,
                function: "count".into(),
                found: 0
            })
        );
        assert_eq!(
            parsed("1 + $x"),
            Err(XPathError::Variable {
                offset,
                name: "x".into()
            })
        );
    }

    #[test]
    fn syntax_errors_say_where() {
        let syntax = |offset, expected, found: &str| {
            Err(XPathError::Syntax {
                offset,
                expected,
                found: found.into(),
            })
        };
        assert_eq!(parsed("a["), syntax(2, "a node test", ""));
        assert_eq!(parsed(""), syntax(0, "a node test", ""));
        assert_eq!(
            parsed("a]"),
            syntax(1, "an operator or the end of the expression", "]")
        );
        assert_eq!(parsed("up::a"), syntax(0, "the name of an axis", "up::a"));
        assert_eq!(parsed("a/text(1)"), syntax(7, "`)`", "1)"));
        assert_eq!(parsed("a/count(b)"), syntax(2, "a node test", "count(b)"));
    }

    #[test]
    fn what_no_context_changes_is_evaluated_once() {
        let slots = |text: &str| parse(text, &|_| None).unwrap().1;
        assert_eq!(slots("ancestor::a"), 0);
        assert_eq!(slots("count(. | //a)"), 1);
        assert_eq!(slots("a[. = /b]"), 1);
        assert_eq!(slots("position() = last()"), 0);
    }
}
