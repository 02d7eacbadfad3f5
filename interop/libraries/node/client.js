// node-soap with its own WS-Security: one call of Echo, told in one line of JSON.
//
//   node client.js ADDRESS OPTIONS     OPTIONS is JSON: text, security, soap, key, certificate, user, password, options

"use strict";

const fs = require("fs");
const soap = require("soap");

function security(wanted) {
    const key = () => fs.readFileSync(wanted.key);
    const certificate = () => fs.readFileSync(wanted.certificate);
    const byCertificate = () => new soap.WSSecurityCert(key(), certificate(), "", wanted.options);
    const byPassword = () => new soap.WSSecurity(wanted.user, wanted.password, wanted.options);
    switch (wanted.security) {
        case "certificate":
            return byCertificate();
        case "user":
            return byPassword();
        case "both":
            return new soap.WSSecurityPlusCert(
                new soap.WSSecurity(wanted.user, wanted.password, wanted.userOptions),
                byCertificate(),
            );
        default:
            throw new Error(`expected certificate, user or both, found ${wanted.security}`);
    }
}

async function call(address, wanted) {
    const settings = { forceSoap12Headers: wanted.soap === "12" };
    const client = await soap.createClientAsync(`${address}?wsdl`, settings);
    client.setSecurity(security(wanted));
    const port = client[`EchoService`][`EchoSoap${wanted.soap}Port`];
    return new Promise((resolve, reject) => {
        port.Echo({ text: wanted.text }, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
}

async function main() {
    const [address, options] = process.argv.slice(2);
    try {
        const wanted = JSON.parse(options);
        const answer = await call(address, wanted);
        const text = answer.text ?? answer;
        const passed = text === wanted.text;
        console.log(JSON.stringify(passed ? { passed } : { passed, error: JSON.stringify(answer) }));
    } catch (error) {
        // Of a fault, the code and the sentence.
        const fault = error.root?.Envelope?.Body?.Fault;
        console.log(JSON.stringify({ passed: false, fault: Boolean(fault), error: String(error.message ?? error) }));
    }
}

main();
