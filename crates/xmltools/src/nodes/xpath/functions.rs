//! The core function library (XPath 1.0 section 4) and `here()` of XML-Signature (section 6.6.3).
//!
//! The one rule kept here: strings are counted in characters, as section 3.6 wants, never in
//! bytes.

use super::error::XPathError;
use super::evaluate::{Context, Evaluator};
use super::expression::{Expr, Function};
use super::lexer::is_space;
use super::value::{Value, round};
use crate::nodes::{NodeKind, TreeNode};
use soapstone_xml::XML_NAMESPACE;

impl Evaluator<'_, '_> {
    /// Calls a function. The parser has checked the number of `arguments`.
    pub(super) fn call(
        &mut self,
        function: Function,
        arguments: &[Expr],
        context: Context,
    ) -> Result<Value, XPathError> {
        Ok(match function {
            Function::Last => Value::Number(context.size as f64),
            Function::Position => Value::Number(context.position as f64),
            Function::Count => Value::Number(self.nodes(&arguments[0], context)?.len() as f64),
            Function::Id => self.elements_by_id(&arguments[0], context)?,
            Function::LocalName | Function::NamespaceUri | Function::Name => {
                let node = match arguments.first() {
                    Some(argument) => self.nodes(argument, context)?.first().copied(),
                    None => Some(context.node),
                };
                Value::string(node.map_or_else(String::new, |node| self.name_of(function, node)))
            }
            Function::String => Value::String(self.text(arguments, context)?),
            Function::Concat => {
                let mut all = String::new();
                for argument in arguments {
                    all.push_str(&self.string(argument, context)?);
                }
                self.charge(all.len())?;
                Value::string(all)
            }
            Function::StartsWith
            | Function::Contains
            | Function::SubstringBefore
            | Function::SubstringAfter => {
                let text = self.string(&arguments[0], context)?;
                let part = self.string(&arguments[1], context)?;
                self.charge(text.len())?;
                match function {
                    Function::StartsWith => Value::Boolean(text.starts_with(&*part)),
                    Function::Contains => Value::Boolean(text.contains(&*part)),
                    Function::SubstringBefore => {
                        Value::string(text.split_once(&*part).map_or("", |(before, _)| before))
                    }
                    _ => Value::string(text.split_once(&*part).map_or("", |(_, after)| after)),
                }
            }
            Function::Substring => {
                let text = self.string(&arguments[0], context)?;
                let start = round(self.number(&arguments[1], context)?);
                let end = match arguments.get(2) {
                    Some(length) => start + round(self.number(length, context)?),
                    None => f64::INFINITY,
                };
                self.charge(text.len())?;
                let inside = |position: usize| position as f64 >= start && (position as f64) < end;
                let kept = text
                    .chars()
                    .enumerate()
                    .filter(|(index, _)| inside(index + 1));
                Value::string(kept.map(|(_, character)| character).collect::<String>())
            }
            Function::StringLength => {
                let text = self.text(arguments, context)?;
                self.charge(text.len())?;
                Value::Number(text.chars().count() as f64)
            }
            Function::NormalizeSpace => {
                let text = self.text(arguments, context)?;
                self.charge(text.len())?;
                let words: Vec<&str> = text
                    .split(is_space)
                    .filter(|word| !word.is_empty())
                    .collect();
                Value::string(words.join(" "))
            }
            Function::Translate => {
                let text = self.string(&arguments[0], context)?;
                let from: Vec<char> = self.string(&arguments[1], context)?.chars().collect();
                let to: Vec<char> = self.string(&arguments[2], context)?.chars().collect();
                self.charge(text.len().saturating_mul(from.len().max(1)))?;
                let translated = text.chars().filter_map(|character| {
                    match from.iter().position(|other| *other == character) {
                        Some(index) => to.get(index).copied(),
                        None => Some(character),
                    }
                });
                Value::string(translated.collect::<String>())
            }
            Function::Boolean => Value::Boolean(self.boolean(&arguments[0], context)?),
            Function::Not => Value::Boolean(!self.boolean(&arguments[0], context)?),
            Function::True => Value::Boolean(true),
            Function::False => Value::Boolean(false),
            Function::Lang => {
                let wanted = self.string(&arguments[0], context)?;
                Value::Boolean(self.is_in_language(&wanted, context.node))
            }
            Function::Number => match arguments.first() {
                Some(argument) => Value::Number(self.number(argument, context)?),
                None => {
                    let text = Value::String(self.text(arguments, context)?);
                    Value::Number(self.number_of(&text)?)
                }
            },
            Function::Sum => {
                let mut sum = 0.0;
                for node in self.nodes(&arguments[0], context)?.iter() {
                    sum += super::value::to_number(&self.string_value(*node)?);
                }
                Value::Number(sum)
            }
            Function::Floor => Value::Number(self.number(&arguments[0], context)?.floor()),
            Function::Ceiling => Value::Number(self.number(&arguments[0], context)?.ceil()),
            Function::Round => Value::Number(round(self.number(&arguments[0], context)?)),
            Function::Here => Value::nodes(vec![self.here.ok_or(XPathError::NoHere)?]),
        })
    }

    /// The argument as a string, or the string-value of the context node where there is none.
    fn text(
        &mut self,
        arguments: &[Expr],
        context: Context,
    ) -> Result<std::rc::Rc<str>, XPathError> {
        match arguments.first() {
            Some(argument) => self.string(argument, context),
            None => Ok(std::rc::Rc::from(&*self.string_value(context.node)?)),
        }
    }

    /// `id()` (section 4.1): of a node-set the ids in each string-value, else those in the string.
    fn elements_by_id(&mut self, argument: &Expr, context: Context) -> Result<Value, XPathError> {
        let mut texts = Vec::new();
        match self.value(argument, context)? {
            Value::Nodes(nodes) => {
                for node in nodes.iter() {
                    texts.push(self.string_value(*node)?.into_owned());
                }
            }
            value => texts.push(self.string_of(&value)?.to_string()),
        }
        let mut elements = Vec::new();
        for id in texts
            .iter()
            .flat_map(|text| text.split(is_space))
            .filter(|id| !id.is_empty())
        {
            self.charge(1)?;
            elements.extend(self.tree.by_id(id)?);
        }
        elements.sort_unstable();
        elements.dedup();
        Ok(Value::nodes(elements))
    }

    fn name_of(&self, function: Function, node: TreeNode) -> String {
        let name = self.tree.name(node);
        match function {
            Function::NamespaceUri => name.uri.to_owned(),
            Function::Name if !name.prefix.is_empty() => format!("{}:{}", name.prefix, name.local),
            _ => name.local.to_owned(),
        }
    }

    /// `lang()` (section 4.3): `xml:lang` of the nearest element that has it is `wanted`, or
    /// `wanted` with a suffix.
    fn is_in_language(&self, wanted: &str, node: TreeNode) -> bool {
        let declared = self
            .tree
            .ancestors_or_self(node)
            .filter(|node| self.tree.kind(*node) == NodeKind::Element)
            .find_map(|element| self.tree.attribute(element, XML_NAMESPACE, "lang"));
        declared.is_some_and(|attribute| {
            let declared = self.tree.value(attribute);
            let (Some(head), Some(rest)) =
                (declared.get(..wanted.len()), declared.get(wanted.len()..))
            else {
                return false;
            };
            head.eq_ignore_ascii_case(wanted) && (rest.is_empty() || rest.starts_with('-'))
        })
    }
}
