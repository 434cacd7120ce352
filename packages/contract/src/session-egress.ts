import { type Static, Type } from 'typebox'
import { Count, DateTime, open, openString } from './scalar.ts'

/** Why the proxy of a sandbox refused a connection. */
export const egressRefusals = [
  'policy',
  'never_host',
  'not_listed',
  'denied',
  'timed_out',
  'undecided',
  'nobody_to_ask',
  'too_many_asked',
  'secret_not_for_host',
  'further',
] as const

const reasonText = [
  '`policy`: the operator’s settings, or the address.',
  '`never_host`: the policy of the organization.',
  '`not_listed`: the environment names its hosts, and not this one.',
  '`denied`, `timed_out`: a person, or nobody in time.',
  '`undecided`: the connection has waited its time, and people may still decide.',
  '`nobody_to_ask`: no person looks after this work.',
  '`too_many_asked`: the Run has its most hosts open for people.',
  '`secret_not_for_host`: a secret that is not for this host, or in its name.',
  '`further`: refusals beyond twenty a minute, together.',
].join(' ')

/** The public name of a host, in lower case, as documents name one. */
export const PublicName = Type.String({
  maxLength: 253,
  pattern: '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$',
})

/** `svc.egress.refused`: the proxy of a sandbox has refused connections. */
export const EgressRefused = Type.Object(
  {
    host: Type.Optional(
      Type.String({ description: 'Absent with `further`, and for a name that is too long to be one.' }),
    ),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
    reason: openString(egressRefusals, reasonText),
    message: Type.Optional(Type.String({ description: 'What the program was answered.' })),
    count: Type.Integer({ minimum: 1, description: 'Connections that were refused within ten seconds.' }),
    wouldAsk: Type.Optional(Type.Literal(true, { description: 'People would have been asked, had there been any.' })),
  },
  {
    title: 'EgressRefusedData',
    description: 'Connections of a sandbox were refused. At most twenty a minute tell their host.',
    ...open,
  },
)

/** What a Session's sandboxes had to do with one host. */
export const EgressHost = Type.Object(
  {
    host: Type.String(),
    port: Type.Integer({ minimum: 0, maximum: 65_535 }),
    reached: Type.Integer({ minimum: 0, description: 'Connections that were made.' }),
    refused: Type.Integer({ minimum: 0, description: 'Connections that were refused.' }),
    sentBytes: Count,
    receivedBytes: Count,
    firstAt: DateTime,
    lastAt: DateTime,
    lastReason: Type.Optional(openString(egressRefusals, 'Why the last refusal was.')),
    secrets: Type.Array(Type.Object({ name: Type.String(), uses: Type.Integer({ minimum: 1 }) }, open), {
      description: 'Secrets that the proxy has put into requests to the host, and how often.',
    }),
  },
  { title: 'EgressHost', description: 'What the sandboxes of a Session had to do with a host.', ...open },
)

/** Response of `getSessionEgress`. */
export const SessionEgress = Type.Object(
  {
    hosts: Type.Array(EgressHost, { description: 'At most 500, and 500 more that got a secret; the last one first.' }),
    others: Type.Optional(
      Type.Object(
        { reached: Count, refused: Count, sentBytes: Count, receivedBytes: Count },
        { description: 'Of all further hosts, together; absent if there are none.', ...open },
      ),
    ),
  },
  {
    title: 'SessionEgress',
    description: 'The hosts that the sandboxes of a Session have reached, or were refused.',
    ...open,
  },
)

/** Response of `allowSessionHost`. */
export const AllowedHost = Type.Object(
  {
    host: Type.String(),
    state: openString(
      ['allowed', 'proposed', 'named'],
      '`allowed`: it holds for the Sessions of the environment, and is proposed as a change of its document. `proposed`: it is only proposed, since the environment asks nobody. `named`: the newest document names it.',
    ),
  },
  { title: 'AllowedHost', description: 'What became of a host that was allowed.', ...open },
)

/** A host that somebody allowed for an environment whose document does not name it. */
export const ProposedHost = Type.Object(
  {
    host: Type.String(),
    sessionId: Type.String({ format: 'uuid', description: 'Where it was allowed.' }),
    decidedBy: Type.Object({ kind: openString(['app_installation', 'person']), id: Type.String() }, open),
    decidedAt: DateTime,
  },
  { title: 'ProposedHost', description: 'A host that was allowed, and that the document does not name yet.', ...open },
)

export type EgressRefusal = (typeof egressRefusals)[number]
export type EgressHost = Static<typeof EgressHost>
export type SessionEgress = Static<typeof SessionEgress>
export type AllowedHost = Static<typeof AllowedHost>
export type ProposedHost = Static<typeof ProposedHost>
