using System.IdentityModel.Selectors;
using System.IdentityModel.Tokens;
using System.Security.Cryptography.X509Certificates;
using System.ServiceModel.Security;

namespace Soapstone.Interop {
    /// <summary>Whose keys are whose: ours, and the one certificate that is believed.</summary>
    static class Certificates {
        /// <summary>The password that the driver gives to every PKCS#12 file.</summary>
        const string Password = "secret";

        public static X509Certificate2 Ours(Options options) {
            return new X509Certificate2(options["key"], Password, X509KeyStorageFlags.Exportable);
        }

        public static X509Certificate2 Theirs(Options options) {
            return new X509Certificate2(options["peer"]);
        }

        public static void Trust(X509ClientCertificateAuthentication authentication, Options options) {
            authentication.CertificateValidationMode = X509CertificateValidationMode.Custom;
            authentication.CustomCertificateValidator = new Only(Theirs(options));
        }

        public static void Trust(X509ServiceCertificateAuthentication authentication, Options options) {
            authentication.CertificateValidationMode = X509CertificateValidationMode.Custom;
            authentication.CustomCertificateValidator = new Only(Theirs(options));
        }

        sealed class Only : X509CertificateValidator {
            readonly X509Certificate2 known;

            public Only(X509Certificate2 certificate) {
                known = certificate;
            }

            public override void Validate(X509Certificate2 certificate) {
                if (certificate.Thumbprint != known.Thumbprint) {
                    throw new SecurityTokenValidationException("a certificate of " + certificate.Subject);
                }
            }
        }
    }
}
