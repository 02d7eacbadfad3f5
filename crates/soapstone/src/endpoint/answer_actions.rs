//! The actions of answers, by those of their requests (WS-Addressing 1.0 Metadata, 4.4).

use std::collections::HashMap;

use soapstone_policy::OperationMessages;

/// The actions of the answers of a WSDL's operations, by those of their requests.
#[derive(Debug, Default)]
pub(super) struct AnswerActions(HashMap<String, Option<String>>);

impl AnswerActions {
    pub(super) fn of(operations: &[OperationMessages]) -> Self {
        let mut actions = HashMap::new();
        for messages in operations {
            for request in &messages.addressing_actions {
                let answer = messages.answer_action.clone();
                let known = actions
                    .entry(request.clone())
                    .or_insert_with(|| answer.clone());
                // Operations that share one, and whose answers do not: nothing tells them apart
                // here.
                if *known != answer {
                    *known = None;
                }
            }
        }
        Self(actions)
    }

    pub(super) fn to(&self, request: &str) -> String {
        let known = self.0.get(request).and_then(Option::as_ref);
        known.map_or_else(|| answering(request), String::clone)
    }
}

/// The action of the answer to a request: the default pattern of WSDL (WS-Addressing 1.0 Metadata,
/// 4.4.4) as far as it can be told from the request alone.
fn answering(action: &str) -> String {
    match action.strip_suffix("Request") {
        Some(operation) => format!("{operation}Response"),
        None => format!("{action}Response"),
    }
}

#[cfg(test)]
mod tests {
    use soapstone_policy::BodyContent;

    use super::*;

    #[test]
    fn the_action_of_an_answer_follows_from_that_of_its_request() {
        for (request, answer) in [
            ("urn:books/getBooksRequest", "urn:books/getBooksResponse"),
            ("urn:getBooks", "urn:getBooksResponse"),
        ] {
            assert_eq!(answering(request), answer);
        }
    }

    /// WS-Addressing 1.0 Metadata, 4.4.4: a `soapAction` is the action of a request, and of no
    /// answer.
    #[test]
    fn the_action_of_an_answer_is_what_a_wsdl_says() {
        let operation = |requests: &[&str], answer: Option<&str>| OperationMessages {
            soap_action: None,
            addressing_actions: requests.iter().map(ToString::to_string).collect(),
            answer_action: answer.map(str::to_owned),
            request: BodyContent::Empty,
            response: answer.map(|_| BodyContent::Empty),
        };
        let actions = AnswerActions::of(&[
            operation(
                &["urn:echo", "urn:t:T:EchoRequest"],
                Some("urn:t:T:EchoResponse"),
            ),
            operation(&["urn:shared"], Some("urn:t:T:aResponse")),
            operation(&["urn:shared"], Some("urn:t:T:bResponse")),
            operation(&["urn:tell"], None),
        ]);
        for (request, answer) in [
            ("urn:echo", "urn:t:T:EchoResponse"),
            ("urn:t:T:EchoRequest", "urn:t:T:EchoResponse"),
            ("urn:shared", "urn:sharedResponse"),
            ("urn:tell", "urn:tellResponse"),
            ("urn:unknown", "urn:unknownResponse"),
        ] {
            assert_eq!(actions.to(request), answer);
        }
    }
}
