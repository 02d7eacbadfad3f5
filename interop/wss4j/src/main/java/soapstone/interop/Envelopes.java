package soapstone.interop;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;

import javax.xml.transform.OutputKeys;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerException;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;

import org.apache.wss4j.common.WSEncryptionPart;
import org.apache.wss4j.dom.WSConstants;
import org.apache.wss4j.dom.util.WSSecurityUtil;
import org.apache.xml.security.parser.XMLParserException;
import org.apache.xml.security.utils.XMLUtils;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;

/** Bytes to DOM and back, and the parts of an envelope that options name. */
final class Envelopes {
    private static final TransformerFactory TRANSFORMERS = TransformerFactory.newInstance();

    private Envelopes() {
    }

    static Document parse(byte[] message) throws XMLParserException {
        return XMLUtils.read(new ByteArrayInputStream(message), true);
    }

    static byte[] serialize(Document document, int sizeHint) throws TransformerException {
        Transformer transformer = TRANSFORMERS.newTransformer();
        transformer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
        ByteArrayOutputStream out = new ByteArrayOutputStream(sizeHint);
        transformer.transform(new DOMSource(document), new StreamResult(out));
        return out.toByteArray();
    }

    /** A comma-separated list of {@code Body}, {@code Timestamp}, {@code Signature} and {@code {namespace}local}. */
    static List<WSEncryptionPart> parts(String list, Document document, boolean encrypting) {
        List<WSEncryptionPart> parts = new ArrayList<>();
        for (String name : list.split(",")) {
            parts.add(part(name, document, encrypting));
        }
        return parts;
    }

    private static WSEncryptionPart part(String name, Document document, boolean encrypting) {
        String envelope = document.getDocumentElement().getNamespaceURI();
        if (name.startsWith("{")) {
            int end = name.indexOf('}');
            String modifier = encrypting && header(name, document) != null ? "Header" : "Element";
            return new WSEncryptionPart(name.substring(end + 1), name.substring(1, end), modifier);
        }
        return switch (name) {
            case "Body" -> new WSEncryptionPart("Body", envelope, "Content");
            case "Timestamp" -> new WSEncryptionPart("Timestamp", WSConstants.WSU_NS, "Element");
            case "Signature" -> new WSEncryptionPart("Signature", WSConstants.SIG_NS, "Element");
            case "UsernameToken" -> new WSEncryptionPart("UsernameToken", WSConstants.WSSE_NS, "Element");
            case "STRTransform" -> new WSEncryptionPart("STRTransform", "", "Element");
            default -> throw new IllegalArgumentException("part: expected Body, Timestamp, Signature, UsernameToken, STRTransform or {namespace}local, found "
                + name);
        };
    }

    /** The element that {@code name} (as in {@link #parts}, or Token) stands for, in the place where it counts, or null. */
    static Element find(String name, Document document) {
        return switch (name) {
            case "Body" -> WSSecurityUtil.findBodyElement(document);
            case "Timestamp" -> inSecurity(WSConstants.WSU_NS, "Timestamp", document);
            case "Signature" -> inSecurity(WSConstants.SIG_NS, "Signature", document);
            case "UsernameToken" -> inSecurity(WSConstants.WSSE_NS, "UsernameToken", document);
            case "Token" -> inSecurity(WSConstants.WSSE_NS, "BinarySecurityToken", document);
            default -> header(name, document);
        };
    }

    private static Element header(String name, Document document) {
        int end = name.indexOf('}');
        Element header = WSSecurityUtil.getSOAPHeader(document);
        return header == null ? null : child(header, name.substring(1, end), name.substring(end + 1));
    }

    static Element security(Document document) {
        Element header = WSSecurityUtil.getSOAPHeader(document);
        return header == null ? null : child(header, WSConstants.WSSE_NS, "Security");
    }

    private static Element inSecurity(String namespace, String local, Document document) {
        Element security = security(document);
        return security == null ? null : child(security, namespace, local);
    }

    private static Element child(Element parent, String namespace, String local) {
        for (Node node = parent.getFirstChild(); node != null; node = node.getNextSibling()) {
            if (node instanceof Element element && namespace.equals(element.getNamespaceURI())
                && local.equals(element.getLocalName())) {
                return element;
            }
        }
        return null;
    }
}
