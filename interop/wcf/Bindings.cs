using System.IdentityModel.Tokens;
using System.ServiceModel;
using System.ServiceModel.Channels;
using System.ServiceModel.Security;
using System.ServiceModel.Security.Tokens;

namespace Soapstone.Interop {
    /// <summary>The binding that options describe.</summary>
    static class Bindings {
        public static Binding Of(Options options) {
            var security = Security(options);
            if (security == null && options["soap"] == "11" && !options.Says("addressing")) {
                return new BasicHttpBinding();
            }
            var binding = new CustomBinding();
            if (security != null) {
                binding.Elements.Add(security);
            }
            if (options.Says("measured")) {
                binding.Elements.Add(new MeasuredEncoding(Version(options)));
                binding.Elements.Add(new HttpTransportBindingElement { MaxReceivedMessageSize = int.MaxValue, MaxBufferSize = int.MaxValue });
                return binding;
            }
            binding.Elements.Add(new VerbatimEncoding(Version(options), options.Or("record", null)));
            var onTls = options["security"].StartsWith("transport-");
            binding.Elements.Add(onTls ? new HttpsTransportBindingElement() : new HttpTransportBindingElement());
            return binding;
        }

        static MessageVersion Version(Options options) {
            var addressing = options.Says("addressing") ? AddressingVersion.WSAddressing10 : AddressingVersion.None;
            return MessageVersion.CreateVersion(options["soap"] == "11" ? EnvelopeVersion.Soap11 : EnvelopeVersion.Soap12, addressing);
        }

        static SecurityBindingElement Security(Options options) {
            if (options["security"] == "none") {
                return null;
            }
            var security = Kind(options);
            var derived = options.Says("derived");
            Agree(security, options, derived);
            if (!options.Says("conversation")) {
                return security;
            }
            var conversation = SecurityBindingElement.CreateSecureConversationBindingElement(security);
            Agree(conversation, options, derived);
            return conversation;
        }

        static SecurityBindingElement Kind(Options options) {
            switch (options["security"]) {
            case "asymmetric":
                return new AsymmetricSecurityBindingElement(
                    new X509SecurityTokenParameters { InclusionMode = SecurityTokenInclusionMode.Never },
                    new X509SecurityTokenParameters { InclusionMode = SecurityTokenInclusionMode.AlwaysToRecipient });
            case "mutual":
                // What it is depends on the version: asymmetric in WSS 1.0; in WSS 1.1 symmetric, with an endorsing certificate.
                return SecurityBindingElement.CreateMutualCertificateBindingElement(SecurityVersion(options));
            case "anonymous":
                return SecurityBindingElement.CreateAnonymousForCertificateBindingElement();
            case "username":
                return SecurityBindingElement.CreateUserNameForCertificateBindingElement();
            case "transport-username":
                return SecurityBindingElement.CreateUserNameOverTransportBindingElement();
            case "transport-certificate":
                return SecurityBindingElement.CreateCertificateOverTransportBindingElement(SecurityVersion(options));
            case "issued":
                return SecurityBindingElement.CreateIssuedTokenForCertificateBindingElement(Issued(options));
            case "issued-protection":
                return new SymmetricSecurityBindingElement(Issued(options));
            case "transport-issued":
                return SecurityBindingElement.CreateIssuedTokenOverTransportBindingElement(Issued(options));
            case "kerberos":
                return new SymmetricSecurityBindingElement(new KerberosSecurityTokenParameters());
            case "transport-kerberos":
                return SecurityBindingElement.CreateKerberosOverTransportBindingElement();
            case "assertion":
                throw new MistakenOption("there is an assertion to show: " + new SamlSecurityToken(new SamlAssertion()).Id);
            default:
                throw new MistakenOption("no kind of security: " + options["security"]);
            }
        }

        /// <summary>An assertion of a token service that is asked without security.</summary>
        static IssuedSecurityTokenParameters Issued(Options options) {
            const string TokenType = "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV1.1";
            return new IssuedSecurityTokenParameters(TokenType, new EndpointAddress(options["issuer"]), new BasicHttpBinding());
        }

        static void Agree(SecurityBindingElement security, Options options, bool derived) {
            security.MessageSecurityVersion = SecurityVersion(options);
            security.DefaultAlgorithmSuite = Suite(options["suite"]);
            security.SetKeyDerivation(derived);
            var asymmetric = security as AsymmetricSecurityBindingElement;
            if (asymmetric != null) {
                asymmetric.MessageProtectionOrder = Order(options);
                asymmetric.RequireSignatureConfirmation = options.Says("confirmation");
            }
            var symmetric = security as SymmetricSecurityBindingElement;
            if (symmetric != null) {
                symmetric.MessageProtectionOrder = Order(options);
                symmetric.RequireSignatureConfirmation = options.Says("confirmation");
            }
        }

        static MessageProtectionOrder Order(Options options) {
            switch (options.Or("order", "sign-encrypt")) {
            case "sign-encrypt":
                return MessageProtectionOrder.SignBeforeEncrypt;
            case "sign-encrypt-signature":
                return MessageProtectionOrder.SignBeforeEncryptAndEncryptSignature;
            case "encrypt-sign":
                return MessageProtectionOrder.EncryptBeforeSign;
            default:
                throw new MistakenOption("no order: " + options["order"]);
            }
        }

        static MessageSecurityVersion SecurityVersion(Options options) {
            switch (options["version"]) {
            case "wss10":
                return MessageSecurityVersion.WSSecurity10WSTrustFebruary2005WSSecureConversationFebruary2005WSSecurityPolicy11BasicSecurityProfile10;
            case "wss11":
                return MessageSecurityVersion.WSSecurity11WSTrustFebruary2005WSSecureConversationFebruary2005WSSecurityPolicy11;
            case "wss11-trust13":
                return MessageSecurityVersion.WSSecurity11WSTrust13WSSecureConversation13WSSecurityPolicy12;
            default:
                throw new MistakenOption("no version: " + options["version"]);
            }
        }

        static SecurityAlgorithmSuite Suite(string name) {
            var suite = typeof(SecurityAlgorithmSuite).GetProperty(name);
            if (suite == null) {
                throw new MistakenOption("no suite: " + name);
            }
            return (SecurityAlgorithmSuite) suite.GetValue(null, null);
        }
    }
}
