package soapstone.interop;

import java.io.IOException;
import java.nio.file.Path;
import java.security.Security;
import java.util.List;

import jakarta.xml.ws.soap.SOAPFaultException;

/**
 * Apache CXF as a peer program: services and clients that take everything from a WSDL with a policy attached.
 *
 * <pre>
 * serve --address URL --wsdl FILE|URL --service {ns}name --port {ns}name --backend URL [--record FOLDER]
 *       [--lifetime SECONDS] SECURITY
 * call  --address URL --wsdl FILE|URL --service {ns}name --port {ns}name [--generated true] [--calls N] [--renew true]
 *       [--cancel true] SECURITY REQUEST ANSWER
 * --jobs FILE|-     one of the above a line, words separated by tabs; one line of JSON each
 *
 * SECURITY: [--key ours.pem --cert ours.pem] [--peer peer.pem] [--ca ca.pem] [--user NAME --password WORD]
 *           [--signature URI]
 * </pre>
 *
 * What is served stays served until the program ends.
 */
public final class CxfPeer {
    private CxfPeer() {
    }

    public static void main(String[] arguments) throws IOException {
        // SHA-1 signatures and RSA 1.5 are what the classic suites name; the policy of the service decides, not that
        // of the Java installation.
        Security.setProperty("jdk.xml.dsig.secureValidationPolicy", "");
        new Jobs(CxfPeer::run, SOAPFaultException.class::isInstance).main(arguments);
        // Servers have threads of their own.
        System.exit(0);
    }

    private static String run(List<String> words) throws Exception {
        Options options = new Options(words);
        String command = options.word(0, "serve or call");
        switch (command) {
            case "serve" -> Serving.publish(options);
            case "call" -> {
                return Calling.call(options, Path.of(options.word(1, "request")), Path.of(options.word(2, "answer")));
            }
            default -> throw new IllegalArgumentException("expected serve or call, found " + command);
        }
        return null;
    }
}
