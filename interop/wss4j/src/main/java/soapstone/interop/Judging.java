package soapstone.interop;

import java.util.List;
import java.util.TreeSet;

import javax.security.auth.callback.Callback;
import javax.xml.namespace.QName;

import org.apache.wss4j.common.bsp.BSPEnforcer;
import org.apache.wss4j.common.bsp.BSPRule;
import org.apache.wss4j.common.crypto.Merlin;
import org.apache.wss4j.common.ext.WSPasswordCallback;
import org.apache.wss4j.common.ext.WSSecurityException;
import org.apache.wss4j.common.token.SecurityTokenReference;
import org.apache.wss4j.dom.WSDocInfo;
import org.apache.wss4j.dom.callback.DOMCallbackLookup;
import org.apache.wss4j.dom.engine.WSSecurityEngine;
import org.apache.wss4j.dom.handler.RequestData;
import org.apache.wss4j.dom.util.WSSecurityUtil;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/**
 * The rules of the Basic Security Profile that WSS4J finds broken in a message whose cryptography is made up.
 *
 * <p>Its enforcer notes each rule and lets the work go on. Each child of the Security header is worked on by itself:
 * the failure of one, for want of a key, leaves the others to be judged.
 */
final class Judging {
    /** Age in seconds that a sample may have. */
    private static final int TEN_YEARS = 10 * 365 * 24 * 3600;

    private final WSSecurityEngine engine = new WSSecurityEngine();

    /** Notes the rules that are handed in. */
    private static final class Noting extends BSPEnforcer {
        final TreeSet<String> broken = new TreeSet<>();

        @Override
        public void handleBSPRule(BSPRule rule) {
            broken.add(rule.name());
        }
    }

    /** The rules as a list of JSON. */
    String judge(byte[] message) throws Exception {
        Document document = Envelopes.parse(message);
        Noting noting = new Noting();
        Element header = WSSecurityUtil.getSecurityHeader(document, null);
        try {
            // Rules about several children are judged by the engine alone; it ends at the first failure.
            engine.processSecurityHeader(header, request(document, header, noting));
        } catch (WSSecurityException e) {
            told("Security", e);
        }
        children(header, request(document, header, noting));
        List<String> rules = noting.broken.stream().map(rule -> '"' + rule + '"').toList();
        return "{\"exit\":0,\"rules\":[" + String.join(",", rules) + "]}";
    }

    private void children(Element header, RequestData data) {
        for (Node child = header.getFirstChild(); child != null; child = child.getNextSibling()) {
            if (!(child instanceof Element element)) {
                continue;
            }
            var name = new QName(element.getNamespaceURI(), element.getLocalName());
            try {
                var processor = engine.getWssConfig().getProcessor(name);
                if (processor != null) {
                    processor.handleToken(element, data);
                } else if (name.equals(SecurityTokenReference.STR_QNAME)) {
                    // So it reads a reference wherever it finds one.
                    new SecurityTokenReference(element, data.getBSPEnforcer());
                }
            } catch (WSSecurityException | NoClassDefFoundError e) {
                told(element.getLocalName(), e);
            }
        }
    }

    /** Tells why the work ended, which it mostly does for want of keys. */
    private static void told(String element, Throwable e) {
        System.err.println(element + ": " + e);
    }

    private RequestData request(Document document, Element header, BSPEnforcer enforcer) throws WSSecurityException {
        RequestData data = new RequestData() {
            @Override
            public BSPEnforcer getBSPEnforcer() {
                return enforcer;
            }
        };
        data.setWssConfig(engine.getWssConfig());
        // The samples are of one moment.
        data.setTimeStampStrict(false);
        data.setTimeStampTTL(TEN_YEARS);
        data.setUtTTL(TEN_YEARS);
        Merlin crypto = new Merlin();
        data.setSigVerCrypto(crypto);
        data.setDecCrypto(crypto);
        data.setMsgContext(document);
        data.setCallbackHandler(callbacks -> {
            for (Callback callback : callbacks) {
                if (callback instanceof WSPasswordCallback asked) {
                    asked.setPassword("secret");
                    asked.setKey(new byte[16]);
                }
            }
        });
        WSDocInfo info = new WSDocInfo(document);
        info.setCallbackLookup(new DOMCallbackLookup(document));
        info.setCrypto(crypto);
        info.setSecurityHeader(header);
        data.setWsDocInfo(info);
        data.setValidateSamlSubjectConfirmation(false);
        return data;
    }
}
