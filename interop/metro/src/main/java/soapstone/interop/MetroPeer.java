package soapstone.interop;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

import com.sun.xml.ws.util.RuntimeVersion;
import jakarta.xml.ws.soap.SOAPFaultException;

/**
 * Metro (WSIT) as a peer program: services and clients that take everything from a WSDL with a policy attached, keys and
 * passwords from assertions of Metro's own, as its users write them.
 *
 * <pre>
 * serve --address URL --wsdl FILE --service {ns}name --port {ns}name [--record FOLDER] [--tls STORE]
 *       [--whole true]
 * call  --address URL --wsdl FILE|URL --service {ns}name --port {ns}name --action URI --configuration FILE
 *       [--calls N] [--pause MILLISECONDS] [--trust STORE] [--assertion FILE [--holder true]]
 *       [--whole true] REQUEST ANSWER
 * serve … --payloads FOLDER --controller HOST:PORT      the sample service of that name, by generated classes
 * withdraw --address URL
 * weighed --address URL
 * measure --address URL --wsdl FILE --service {ns}name --port {ns}name --configuration FILE --trust STORE --payloads FOLDER
 *       --operation echo|strings|books|employees|employee|sum|temperature [--count N] [--warm-up SECONDS]
 *       ([--clients N] [--requests N] [--first true] | --per-second N --seconds N)
 * part … as measure
 * leave --address URL
 * versions
 * --jobs FILE|-     one of the above a line, words separated by tabs; one line of JSON each
 * </pre>
 *
 * The configuration is what a client has as {@code META-INF/wsit-client.xml}; a service has its own in its WSDL. Stores are
 * PKCS#12 with the password {@link Tls#PASSWORD}. A request is a payload, and so is an answer; whole ones are envelopes, and are
 * answered with the Body that they have. What is served stays served until it is withdrawn or the program ends.
 */
public final class MetroPeer {
    private MetroPeer() {
    }

    public static void main(String[] arguments) throws IOException {
        new Jobs(MetroPeer::run, SOAPFaultException.class::isInstance).main(arguments);
        // Servers have threads of their own.
        System.exit(0);
    }

    private static String run(List<String> words) throws Exception {
        Options options = new Options(words);
        String command = options.word(0, "command");
        return switch (command) {
            case "serve" -> {
                Serving.publish(options);
                yield null;
            }
            case "withdraw" -> {
                Serving.withdraw(options);
                yield null;
            }
            case "weighed" -> Serving.weighed(options);
            case "call" -> {
                Calling.call(options, Path.of(options.word(1, "request")), Path.of(options.word(2, "answer")));
                yield null;
            }
            case "measure" -> Measuring.measure(options);
            case "part" -> Measuring.part(options);
            case "leave" -> {
                Measuring.leave(options);
                yield null;
            }
            case "versions" -> versions();
            default -> throw new IllegalArgumentException(
                "command: expected serve, withdraw, weighed, call, measure, part, leave or versions, found " + command);
        };
    }

    private static String versions() {
        return "{\"exit\":0,\"version\":\"" + RuntimeVersion.VERSION.MAJOR_VERSION + " on Java " + Runtime.version() + "\"}";
    }
}
