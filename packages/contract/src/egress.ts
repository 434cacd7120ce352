import { type Static, Type } from 'typebox'
import { egressLimits } from './limits.ts'
import { closed, open, text } from './scalar.ts'

const label = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?'
/** A name of two labels at least. The last begins with a letter, which that of an address does not. */
export const hostPattern = `^(\\*\\.)?(${label}\\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`

/** The name of a public host, or `*.name` for every name below it. */
const HostName = Type.String({
  maxLength: 253,
  pattern: hostPattern,
  description:
    'A name in lower case, in its `xn--` form if it has other letters. `*.name` is every name below it, and not that name itself.',
})

const hostNames = (maxItems: number, minItems: number, description: string) =>
  Type.Array(HostName, { minItems, maxItems, uniqueItems: true, description })

/** Where a request holds the value. One of `header`, `basic` and `query`; `format` belongs to `header`. */
const SecretPlacement = Type.Object(
  {
    header: Type.Optional(
      Type.String({
        maxLength: egressLimits.headerCharacters,
        pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
        description: 'The header of requests that holds it.',
      }),
    ),
    format: Type.Optional(
      Type.String({
        maxLength: egressLimits.formatCharacters,
        pattern: '^[ -~]*\\{value\\}[ -~]*$',
        description:
          'The value of that header, with `{value}` once; absent: `Bearer {value}` in `Authorization`, and `{value}` elsewhere.',
      }),
    ),
    basic: Type.Optional(
      Type.Object(
        {
          user: text(egressLimits.userCharacters, {
            pattern: '^[^:\\u0000-\\u001f\\u007f]*$',
            description: 'The user, beside which it is the password.',
          }),
        },
        { description: 'Basic authentication.', ...closed },
      ),
    ),
    query: Type.Optional(
      Type.String({
        maxLength: egressLimits.queryCharacters,
        pattern: '^[A-Za-z0-9._~-]+$',
        description: 'The parameter of the query that holds it.',
      }),
    ),
  },
  {
    description: 'Where a request holds the value: exactly one of `header`, `basic` and `query`.',
    minProperties: 1,
    ...closed,
  },
)

/** Where the value of a secret may go that no program of a sandbox holds. */
export const SecretEgress = Type.Object(
  {
    hosts: hostNames(egressLimits.secretHosts, 1, 'The hosts that get it, over HTTPS.'),
    methods: Type.Optional(
      Type.Array(Type.Enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'], { type: 'string' }), {
        minItems: 1,
        uniqueItems: true,
        description: 'The methods of requests that get it; absent: all.',
      }),
    ),
    paths: Type.Optional(
      Type.Array(
        Type.String({ maxLength: egressLimits.pathCharacters, pattern: "^/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*$" }),
        {
          minItems: 1,
          maxItems: egressLimits.paths,
          uniqueItems: true,
          description: 'Paths below which requests get it: `/v1` is that path and everything below it, and not `/v10`.',
        },
      ),
    ),
    put: SecretPlacement,
    setup: Type.Optional(Type.Boolean({ description: 'Whether setup scripts may use it as well; false if left out.' })),
  },
  {
    description: 'Where the value goes. The proxy of the sandbox puts it into requests; programs hold a placeholder.',
    ...closed,
  },
)

/** How sandboxes get a secret. */
export const SecretExposure = Type.Enum(['variable', 'egress'], {
  type: 'string',
  description:
    '`variable`: programs get the value. `egress`: they get a placeholder, and the proxy puts the value into requests to the hosts of `egress`.',
})

const network = {
  mode: Type.Enum(['open', 'listed', 'ask'], {
    type: 'string',
    description:
      '`open`: every host that the operator opens. `listed`: those of `hosts` alone. `ask`: those, and people are asked for another one.',
  }),
  hosts: hostNames(egressLimits.networkHosts, 0, 'None if left out.'),
}
const networkDescription = 'Which hosts sandboxes reach, within what the operator allows.'

/** Which hosts the sandboxes of an environment reach, as a caller writes it. */
export const WriteNetwork = Type.Object(
  { ...network, hosts: Type.Optional(network.hosts) },
  { description: networkDescription, ...closed },
)

/** The same with every member. */
export const EnvironmentNetwork = Type.Object(network, { description: networkDescription, ...open })

/** Body of `putEnvironmentSecret`. */
export const WriteSecret = Type.Object(
  {
    value: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'At most 32 KiB of UTF-8, and 8 KiB for `egress`, where it is one line. Absent: the present one, unless the change opens it to more requests.',
      }),
    ),
    exposure: Type.Optional(SecretExposure),
    egress: Type.Optional(SecretEgress),
  },
  { title: 'WriteSecret', description: 'What is absent stays as it is.', minProperties: 1, ...closed },
)

const policyFields = {
  neverHosts: hostNames(
    egressLimits.neverHosts,
    0,
    'Hosts that no environment names. Sandboxes that are made from now on do not reach them.',
  ),
  secretEnvironments: Type.Unsafe<Readonly<Record<string, readonly string[]>>>({
    type: 'object',
    description:
      'By the name of a secret, the ids of the environments that may use it. A secret that is not named is free for all.',
    propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$' },
    additionalProperties: {
      type: 'array',
      items: { type: 'string', format: 'uuid' },
      maxItems: egressLimits.policyEnvironments,
      uniqueItems: true,
    },
    maxProperties: egressLimits.policySecrets,
  }),
}

/** What an organization lets its environments reach and use, as it sets it. */
export const SetEgressPolicy = Type.Object(
  {
    neverHosts: Type.Optional(policyFields.neverHosts),
    secretEnvironments: Type.Optional(policyFields.secretEnvironments),
  },
  {
    description: 'What environments may reach and use. A member replaces what was; absent: as it is.',
    minProperties: 1,
    ...closed,
  },
)

/** The same as it is read. */
export const EgressPolicy = Type.Object(policyFields, { description: 'What environments may reach and use.', ...open })

export type SecretEgress = Static<typeof SecretEgress>
export type EnvironmentNetwork = Static<typeof EnvironmentNetwork>
export type WriteSecret = Static<typeof WriteSecret>
export type EgressPolicy = Static<typeof EgressPolicy>
