import { type Static, Type } from 'typebox'
import { hostLimits, hostPatterns } from './host.ts'
import { closed, DateTime, nullable, open, openString, someText, Uuid } from './scalar.ts'

const Labels = Type.Array(Type.String({ pattern: `^${hostPatterns.label}=${hostPatterns.value}$` }), {
  maxItems: hostLimits.labels,
  description: '`name=value`; they stand before those that the host gives itself.',
})

export const OwnHost = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    pool: Type.String(),
    labels: Type.Array(Type.String({ description: '`name=value`' })),
    driver: nullable(Type.String({ description: 'What makes its sandboxes; null until it has connected.' })),
    capacity: nullable(Type.Integer({ minimum: 0, description: 'The most sandboxes that it holds; null: no bound.' })),
    sandboxes: Type.Integer({ minimum: 0, description: 'That it holds now.' }),
    state: openString(
      ['waiting', 'ready', 'resting', 'away', 'cordoned', 'draining', 'drained', 'outdated'],
      '`waiting`: its token was never used. `resting`: it gets no further sandboxes for a while, after failures. `outdated`: it is of another release, and was refused.',
    ),
    heardAt: nullable(DateTime),
    restsUntil: nullable(DateTime),
    restsBecause: nullable(
      openString(
        ['no_answer', 'line_cut'],
        '`no_answer`: it took a call and did not answer in time. `line_cut`: its connection broke while it made a sandbox.',
      ),
    ),
  },
  { title: 'OwnHost', ...open },
)

const runsOn = Type.Enum(['any_host', 'own_hosts'], {
  type: 'string',
  description: '`own_hosts`: Sessions get sandboxes on hosts of the organization alone.',
})

export const Compute = Type.Object(
  {
    runsOn,
    standing: openString(
      ['shared', 'ready', 'not_configured', 'outdated'],
      'Whether the organization has compute that it may run on. `shared`: it runs on any host.',
    ),
    hosts: Type.Array(OwnHost, { description: 'Hosts of the organization alone, by name.' }),
  },
  { title: 'Compute', ...open },
)

export const UpdateCompute = Type.Object({ runsOn }, { title: 'UpdateCompute', ...closed })

export const AdmitHost = Type.Object(
  {
    name: someText(100, { description: 'For people.' }),
    pool: Type.Optional(Type.String({ pattern: `^${hostPatterns.pool}$`, default: 'default' })),
    capacity: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: hostLimits.capacity,
        description: 'The most sandboxes that it may offer; absent: as many as it says.',
      }),
    ),
    labels: Type.Optional(Labels),
  },
  { title: 'AdmitHost', ...closed },
)

export const AdmittedHost = Type.Object(
  {
    host: OwnHost,
    token: Type.String({ description: 'For `berth host`; nothing reads it back. Whoever has it can be this host.' }),
  },
  { title: 'AdmittedHost', ...open },
)

export const MarkHost = Type.Object(
  {
    mark: Type.Enum(['open', 'cordoned', 'drained'], {
      type: 'string',
      description:
        '`open`: it gets sandboxes, and does not rest any more. `cordoned`: it gets no more sandboxes. `drained`: it also gives back those that rest.',
    }),
  },
  { title: 'MarkHost', ...closed },
)

export const OwnHostEnvelope = Type.Object({ host: OwnHost }, { title: 'OwnHostEnvelope', ...open })

export type OwnHost = Static<typeof OwnHost>
export type Compute = Static<typeof Compute>
export type AdmittedHost = Static<typeof AdmittedHost>
