//! Tokens of XPath 1.0 (section 3.7).
//!
//! The one rule kept here: what a `*` or a name means depends on the token before it, as section
//! 3.7 says, and is decided here once.

use super::error::XPathError;
use soapstone_xml::chars;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Token<'t> {
    LeftParenthesis,
    RightParenthesis,
    LeftBracket,
    RightBracket,
    Dot,
    DotDot,
    At,
    Comma,
    ColonColon,
    Slash,
    SlashSlash,
    Pipe,
    /// A `*` that is a name test.
    Star,
    /// `prefix:*`
    PrefixStar(&'t str),
    Name {
        prefix: Option<&'t str>,
        local: &'t str,
    },
    Variable(&'t str),
    Literal(&'t str),
    Number(f64),
    Operator(Operator),
}

/// Operators that combine values; `|` combines node sets and stands apart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Multiply,
    Divide,
    Modulo,
}

/// Splits `text` into tokens with their offsets.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, usize)>, XPathError> {
    let mut lexer = Lexer {
        text,
        at: 0,
        tokens: Vec::new(),
    };
    loop {
        lexer.at += text[lexer.at..]
            .find(|c| !is_space(c))
            .unwrap_or(text.len() - lexer.at);
        if lexer.at == text.len() {
            return Ok(lexer.tokens);
        }
        let start = lexer.at;
        let token = lexer.token()?;
        lexer.tokens.push((token, start));
    }
}

pub(super) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<(Token<'t>, usize)>,
}

impl<'t> Lexer<'t> {
    fn token(&mut self) -> Result<Token<'t>, XPathError> {
        let rest = &self.text[self.at..];
        let operator = self.after_operand();
        for (symbol, token) in SYMBOLS {
            // `.5` is a number; everything else that a symbol can begin is that symbol, the longest
            // first.
            if rest.starts_with(symbol) && !(symbol == "." && starts_with_digit(&rest[1..])) {
                self.at += symbol.len();
                return Ok(token);
            }
        }
        if rest.starts_with('*') {
            self.at += 1;
            return Ok(if operator {
                Token::Operator(Operator::Multiply)
            } else {
                Token::Star
            });
        }
        if rest.starts_with(['"', '\'']) {
            let quote = &rest[..1];
            let length = rest[1..]
                .find(quote)
                .ok_or_else(|| self.unexpected("a literal with its closing quote"))?;
            self.at += length + 2;
            return Ok(Token::Literal(&rest[1..=length]));
        }
        if rest.starts_with('.') || starts_with_digit(rest) {
            return Ok(self.number());
        }
        let variable = rest.starts_with('$');
        if variable {
            self.at += 1;
        }
        let start = self.at;
        let first = self
            .ncname()
            .ok_or_else(|| self.unexpected("an expression"))?;
        if operator {
            let known = [
                ("or", Operator::Or),
                ("and", Operator::And),
                ("div", Operator::Divide),
                ("mod", Operator::Modulo),
            ];
            if let Some((_, operator)) = known.into_iter().find(|(name, _)| *name == first) {
                return Ok(Token::Operator(operator));
            }
            self.at -= first.len();
            return Err(self.unexpected("an operator or the end of the expression"));
        }
        let rest = &self.text[self.at..];
        let mut name = Token::Name {
            prefix: None,
            local: first,
        };
        if rest.starts_with(':') && !rest.starts_with("::") {
            self.at += 1;
            if self.text[self.at..].starts_with('*') && !variable {
                self.at += 1;
                return Ok(Token::PrefixStar(first));
            }
            let local = self
                .ncname()
                .ok_or_else(|| self.unexpected("a local name"))?;
            name = Token::Name {
                prefix: Some(first),
                local,
            };
        }
        Ok(if variable {
            Token::Variable(&self.text[start..self.at])
        } else {
            name
        })
    }

    /// The token before is one after which `*` multiplies and a name is an operator (section 3.7).
    fn after_operand(&self) -> bool {
        match self.tokens.last() {
            None => false,
            Some((token, _)) => !matches!(
                token,
                Token::At
                    | Token::ColonColon
                    | Token::LeftParenthesis
                    | Token::LeftBracket
                    | Token::Comma
                    | Token::Operator(_)
                    | Token::Pipe
                    | Token::Slash
                    | Token::SlashSlash
            ),
        }
    }

    fn number(&mut self) -> Token<'t> {
        let rest = &self.text[self.at..];
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let mut length = digits(rest);
        if rest[length..].starts_with('.') {
            length += 1 + digits(&rest[length + 1..]);
        }
        self.at += length;
        // Digits with at most one point always parse; the fallback is what XPath calls no number.
        Token::Number(rest[..length].parse().unwrap_or(f64::NAN))
    }

    fn ncname(&mut self) -> Option<&'t str> {
        let end = chars::ncname_end(self.text, self.at)?;
        let name = &self.text[self.at..end];
        self.at = end;
        Some(name)
    }

    fn unexpected(&self, expected: &'static str) -> XPathError {
        let found = self.text[self.at..].chars().take(16).collect();
        XPathError::Syntax {
            offset: self.at,
            expected,
            found,
        }
    }
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|character: char| character.is_ascii_digit())
}

/// Longer symbols before their beginnings.
const SYMBOLS: [(&str, Token<'static>); 20] = [
    ("(", Token::LeftParenthesis),
    (")", Token::RightParenthesis),
    ("[", Token::LeftBracket),
    ("]", Token::RightBracket),
    ("..", Token::DotDot),
    (".", Token::Dot),
    ("@", Token::At),
    (",", Token::Comma),
    ("::", Token::ColonColon),
    ("//", Token::SlashSlash),
    ("/", Token::Slash),
    ("|", Token::Pipe),
    ("+", Token::Operator(Operator::Plus)),
    ("-", Token::Operator(Operator::Minus)),
    ("=", Token::Operator(Operator::Equal)),
    ("!=", Token::Operator(Operator::NotEqual)),
    ("<=", Token::Operator(Operator::LessOrEqual)),
    ("<", Token::Operator(Operator::Less)),
    (">=", Token::Operator(Operator::GreaterOrEqual)),
    (">", Token::Operator(Operator::Greater)),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Token<'_>> {
        tokens(text)
            .unwrap()
            .into_iter()
            .map(|(token, _)| token)
            .collect()
    }

    #[test]
    fn a_star_or_a_name_after_an_operand_is_an_operator() {
        let name = |local| Token::Name {
            prefix: None,
            local,
        };
        let multiply = Token::Operator(Operator::Multiply);
        assert_eq!(kinds("* * *"), [Token::Star, multiply, Token::Star]);
        assert_eq!(
            kinds("div div mod"),
            [name("div"), Token::Operator(Operator::Divide), name("mod")]
        );
        assert_eq!(kinds("/ and"), [Token::Slash, name("and")]);
        assert_eq!(kinds("@and"), [Token::At, name("and")]);
        assert_eq!(
            kinds(".. or a-b"),
            [Token::DotDot, Token::Operator(Operator::Or), name("a-b")]
        );
    }

    #[test]
    fn numbers_points_and_qualified_names_are_told_apart() {
        let qualified = Token::Name {
            prefix: Some("p"),
            local: "l",
        };
        assert_eq!(kinds(".5 "), [Token::Number(0.5)]);
        assert_eq!(kinds("5."), [Token::Number(5.0)]);
        assert_eq!(kinds("p:l"), [qualified]);
        assert_eq!(kinds("p:*"), [Token::PrefixStar("p")]);
        assert_eq!(
            kinds("p::l"),
            [
                Token::Name {
                    prefix: None,
                    local: "p"
                },
                Token::ColonColon,
                Token::Name {
                    prefix: None,
                    local: "l"
                }
            ]
        );
    }

    #[test]
    fn text_that_is_no_token_is_refused_where_it_stands() {
        let syntax = |offset, expected, found: &str| XPathError::Syntax {
            offset,
            expected,
            found: found.into(),
        };
        assert_eq!(tokens("a # b"), Err(syntax(2, "an expression", "# b")));
        assert_eq!(
            tokens("'a"),
            Err(syntax(0, "a literal with its closing quote", "'a"))
        );
        assert_eq!(
            tokens("a b"),
            Err(syntax(2, "an operator or the end of the expression", "b"))
        );
    }
}
