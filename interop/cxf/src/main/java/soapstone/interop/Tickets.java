package soapstone.interop;

import java.util.HashMap;
import java.util.Map;

import org.apache.cxf.ws.security.SecurityConstants;
import org.apache.cxf.ws.security.kerberos.KerberosClient;
import org.apache.wss4j.dom.validate.KerberosTokenValidator;

/**
 * Kerberos tokens as the properties that CXF's policy handlers ask for: the tickets of a client, or the keys of a service.
 *
 * <pre>
 * [--jaas ENTRY (--ticket-for PRINCIPAL | --accepts PRINCIPAL) [--raw true]]
 * </pre>
 *
 * CXF itself knows tokens in the framing of GSS alone; {@code --raw} takes it away, and puts it back.
 */
final class Tickets {
    private Tickets() {
    }

    static Map<String, Object> of(Options options) {
        Map<String, Object> properties = new HashMap<>();
        String service = options.optional("ticket-for");
        if (service != null) {
            KerberosClient client = options.is("raw") ? new RawTickets() : new KerberosClient();
            client.setContextName(options.required("jaas"));
            client.setServiceName(service);
            client.setUsernameServiceNameForm(true);
            properties.put(SecurityConstants.KERBEROS_CLIENT, client);
        }
        String own = options.optional("accepts");
        if (own != null) {
            KerberosTokenValidator validator = options.is("raw") ? new RawTickets.Validator() : new KerberosTokenValidator();
            validator.setContextName(options.required("jaas"));
            validator.setServiceName(own);
            validator.setUsernameServiceNameForm(true);
            properties.put(SecurityConstants.BST_TOKEN_VALIDATOR, validator);
        }
        if (options.is("raw")) {
            // The Basic Security Profile wants the framing (R6902).
            properties.put(SecurityConstants.IS_BSP_COMPLIANT, "false");
        }
        return properties;
    }
}
