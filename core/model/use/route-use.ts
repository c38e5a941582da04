/**
 * What names certificates, credentials and settings of traffic: Ingresses with the annotations of
 * their controllers, the Gateway API, cert-manager.
 *
 * What must stay true: where a part of a specification has no fixed fields, it may name any.
 */
import type { Use } from './use.ts'
import { ACCOUNT, CONFIG_MAP, of, SECRET } from './use-row.ts'

function annotations(prefix: string, names: readonly string[]): readonly string[] {
  return names.map((name) => `metadata.annotations["${prefix}/${name}"]`)
}

const NGINX = 'nginx.ingress.kubernetes.io'
/** As NAME or as NAMESPACE/NAME. */
const SECRETS_OF_INGRESS = [
  ...annotations(NGINX, ['auth-secret', 'auth-tls-secret', 'proxy-ssl-secret']),
  ...annotations(NGINX, ['secure-verify-ca-secret']),
  // HAProxy Ingress, and Traefik 1.
  ...['haproxy-ingress.github.io', 'ingress.kubernetes.io'].flatMap((prefix) =>
    annotations(prefix, [
      ...['auth-secret', 'auth-tls-secret', 'secure-crt-secret', 'secure-verify-ca-secret'],
    ]),
  ),
  ...annotations('haproxy.org', ['auth-secret', 'client-ca', 'server-ca', 'server-crt']),
  ...annotations('nginx.org', ['basic-auth-secret']),
  ...annotations('nginx.com', ['jwt-key']),
].map((path) => `${path}@/`)
const CONFIGS_OF_INGRESS = annotations(NGINX, [
  ...['auth-proxy-set-headers', 'custom-headers', 'fastcgi-params-configmap'],
]).map((path) => `${path}@/`)

function backends(kind: string): readonly string[] {
  return ['spec.defaultBackend', 'spec.rules[].http.paths[].backend'].map(
    (backend) => `${backend}.resource[kind=${kind}].name`,
  )
}

const GATEWAY = 'gateway.networking.k8s.io'
const LISTENERS = [
  of(GATEWAY, 'Gateway', 'spec.listeners[].tls'),
  of(GATEWAY, 'ListenerSet', 'spec.listeners[].tls'),
  of('gateway.networking.x-k8s.io', 'XListenerSet', 'spec.listeners[].tls'),
]
const ROUTES = ['HTTPRoute', 'GRPCRoute'].map((kind) => of(GATEWAY, kind, 'spec.rules[]'))

/** Of a kind that each reference to an object says. */
const BY_KIND = [CONFIG_MAP, SECRET].flatMap((used): readonly Use[] => {
  const named = `[kind=${used.kind}].name`
  return [
    {
      ...{ used, users: [of('networking.k8s.io', 'IngressClass')] },
      paths: [`spec.parameters${named}@namespace`],
    },
    { used, users: [of('networking.k8s.io', 'Ingress')], paths: backends(used.kind) },
    {
      ...{ used, users: [of(GATEWAY, 'GatewayClass')] },
      paths: [`spec.parametersRef${named}@namespace`],
    },
    {
      ...{ used, users: LISTENERS },
      paths: [`frontendValidation.caCertificateRefs${named}@namespace`],
    },
    {
      used,
      users: [of(GATEWAY, 'Gateway', 'spec')],
      paths: [
        `infrastructure.parametersRef${named}`,
        `tls.frontend.default.validation.caCertificateRefs${named}@namespace`,
        `tls.frontend.perPort[].tls.validation.caCertificateRefs${named}@namespace`,
      ],
    },
    { used, users: ROUTES, paths: [`**.extensionRef${named}`] },
    {
      ...{ used, users: [of(GATEWAY, 'BackendTLSPolicy', 'spec')] },
      paths: [`validation.caCertificateRefs${named}`, `tls.caCertRefs${named}`],
    },
  ]
})

const INJECTED = 'metadata.annotations["cert-manager.io/inject-ca-from-secret"]@/'

const CERT_MANAGER: readonly Use[] = [
  // What they admit by is beside them; whose certificate is put there, cert-manager's mark says.
  {
    used: SECRET,
    users: [
      of('admissionregistration.k8s.io', 'MutatingWebhookConfiguration'),
      of('admissionregistration.k8s.io', 'ValidatingWebhookConfiguration'),
      of('apiregistration.k8s.io', 'APIService'),
      of('apiextensions.k8s.io', 'CustomResourceDefinition'),
    ],
    paths: [INJECTED],
  },
  {
    used: SECRET,
    users: [of('cert-manager.io', 'Certificate', 'spec')],
    paths: ['secretName', 'keystores.**.passwordSecretRef.name'],
  },
  ...['Issuer', 'ClusterIssuer'].flatMap((kind): readonly Use[] => {
    const users = [of('cert-manager.io', kind, 'spec')]
    return [
      {
        ...{ used: SECRET, users },
        // A solver behind a webhook has what settings it likes.
        paths: ['**.name', '**.secretName', 'acme.solvers[].dns01.webhook.config'],
      },
      { used: ACCOUNT, users, paths: ['**.serviceAccountRef.name', '**.serviceAccountName'] },
    ]
  }),
]

export const ROUTE_USES: readonly Use[] = [
  {
    used: SECRET,
    users: [of('networking.k8s.io', 'Ingress')],
    paths: [
      'spec.tls[].secretName',
      ...SECRETS_OF_INGRESS,
      // The controller of AWS: the name is within a text of its own.
      'metadata.annotations["alb.ingress.kubernetes.io/auth-idp-oidc"]>*',
    ],
  },
  {
    ...{ used: CONFIG_MAP, users: [of('networking.k8s.io', 'Ingress')] },
    paths: CONFIGS_OF_INGRESS,
  },
  ...BY_KIND,
  // Of a Secret where no kind is said.
  { used: SECRET, users: LISTENERS, paths: ['certificateRefs[].name@namespace'] },
  {
    ...{ used: SECRET, users: [of(GATEWAY, 'Gateway')] },
    paths: ['spec.tls.backend.clientCertificateRef.name@namespace'],
  },
  {
    ...{ used: SECRET, users: [of('route.openshift.io', 'Route')] },
    paths: ['spec.tls.externalCertificate.name'],
  },
  ...CERT_MANAGER,
]
