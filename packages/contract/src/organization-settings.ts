import { type Static, Type } from 'typebox'
import { EgressPolicy, SetEgressPolicy } from './egress.ts'
import { Count, closed, DateTime, nullable, open, openString } from './scalar.ts'

const Dollars = Type.Number({ minimum: 0 })
const amount = (description: string) => Type.Number({ minimum: 0.01, maximum: 1e9, description })
const whole = (description: string) => Type.Integer({ minimum: 1, maximum: 999_999_999, description })

/** What an organization lets itself spend. Null sets no bound of its own; the operator's bounds hold beside it. */
const ownBudgets = {
  dayUsd: nullable(amount('US dollars that the organization may spend on models in a day of UTC.')),
  monthUsd: nullable(amount('US dollars that it may spend in a month of UTC.')),
  runCostUsd: nullable(amount('US dollars that one Run may spend on models.')),
  runTurns: nullable(whole("Calls of its model that a Run's agent may make.")),
  runSeconds: nullable(whole('Seconds that a Run may work, without waiting for people.')),
}

const reactions = ['pause', 'refuse'] as const

/** One budget of the organization, or of one of its people or installations, as an administrator sets it. */
const ScopedBudget = Type.Object(
  {
    personId: Type.Optional(Type.String({ format: 'uuid', description: 'A member, whose spending alone it bounds.' })),
    installationId: Type.Optional(
      Type.String({ format: 'uuid', description: 'An installation, whose spending alone it bounds.' }),
    ),
    period: Type.Enum(['day', 'month'], { type: 'string', description: 'Of UTC.' }),
    limitUsd: Type.Optional(nullable(amount('Null removes it; absent: as it is.'))),
    onReached: Type.Optional(
      Type.Enum(reactions, {
        type: 'string',
        description:
          'Whether Runs that reach it wait for people, or are refused; absent: as it is, and refused at first. Everybody else is refused.',
      }),
    ),
  },
  { description: 'Sets one budget; without `personId` and `installationId` one of the whole organization.', ...closed },
)

const attribution = {
  author: Type.Enum(['person', 'app'], {
    description: 'The person who asked for the Publication, or the app, with the person as a co-author.',
  }),
  signOff: Type.Boolean({ description: 'Whether the author signs off in the message, as the DCO asks for.' }),
}

const signer = Type.Enum(['deployment', 'host'], {
  description:
    'Who signs. `deployment`: its key, if it has one. `host`: the Git host makes the commit, as the app, and signs it. The person is a co-author then, whatever `author` says, and a Publication to a host that signs no commits fails with `commit_not_signed`.',
})

const followUps = {
  label: nullable(
    Type.String({
      ...{ minLength: 1, maxLength: 100 },
      description: 'The label whose removal from a pull request stops its follow-up; null: `berth`.',
    }),
  ),
  assignee: nullable(
    Type.String({
      ...{ minLength: 1, maxLength: 100, pattern: '^\\S+$' },
      description: 'The login whose removal from the assignees stops it; null: `berth`, and that of every app.',
    }),
  ),
  baseCommits: nullable(
    Type.Integer({
      ...{ minimum: 1, maximum: 10_000 },
      description:
        'By more commits the base may not be ahead of a pull request that is followed: they are brought into the work then. Null: only if the host asks for it.',
    }),
  ),
}

const RunBounds = Type.Object(
  { costUsd: nullable(Dollars), turns: nullable(Count), seconds: nullable(Count) },
  { description: 'Null: no bound.', ...open },
)

const Budget = Type.Object(
  {
    scope: openString(['organization', 'person', 'installation'], 'Whose spending it bounds.'),
    id: nullable(Type.String({ description: 'Id of the person or installation; null for the organization.' })),
    name: nullable(Type.String({ description: 'How people call it; null for the organization.' })),
    period: openString(['day', 'month', 'total']),
    setBy: openString(['operator', 'organization']),
    onReached: openString(reactions, 'Whether Runs that reach it wait for people, or are refused.'),
    limitUsd: Dollars,
    spentUsd: Type.Number({ minimum: 0, description: 'In the current period.' }),
    resetsAt: nullable(DateTime),
  },
  { title: 'SpendingBudget', ...open },
)

export const OrganizationSettings = Type.Object(
  {
    own: Type.Object(ownBudgets, open),
    budgets: Type.Array(Budget, {
      description:
        'Every budget of the whole organization, and then those of its people and installations. A model answers only while none of them is spent.',
    }),
    run: Type.Object(
      {
        operator: RunBounds,
        effective: Type.Object(RunBounds.properties, { description: 'The tighter of both.', ...open }),
      },
      { description: 'Bounds of one Run.', ...open },
    ),
    commits: Type.Object(
      {
        ...attribution,
        signer,
        hostSigns: Type.Boolean({ description: 'Whether a Git host of the deployment signs commits; GitHub does.' }),
        committer: Type.Object({ name: Type.String(), email: Type.String() }, { description: 'The app.', ...open }),
        publicKey: nullable(
          Type.String({
            description:
              'The key of SSH or OpenPGP that verifies their signatures, as hosts take it; null if they are not signed.',
          }),
        ),
      },
      { description: 'To whom the commits of Publications are attributed.', ...open },
    ),
    pullRequests: Type.Object(
      {
        section: nullable(Type.String({ description: 'As the organization sets it; null: the usual one.' })),
        usualSection: Type.String({ description: 'The template that stands in for null.' }),
      },
      { description: 'What Publications add to the description of their pull requests.', ...open },
    ),
    egress: EgressPolicy,
    followUps: Type.Object(followUps, {
      description: 'How pull requests are followed until they are merged.',
      ...open,
    }),
    rate: Type.Object(
      {
        burst: Count,
        perMinute: Count,
        own: Type.Boolean({ description: 'Whether the operator gave the organization a rate of its own.' }),
      },
      { description: 'Requests that each membership and installation may send.', ...open },
    ),
    retention: Type.Object(
      { auditDays: Type.Integer({ minimum: 1, description: 'Days that an entry of the audit log is kept.' }) },
      { description: 'What is forgotten. The logs of Sessions are kept for ever.', ...open },
    ),
  },
  { title: 'OrganizationSettings', ...open },
)

/** Body of `updateOrganizationSettings`; what is absent stays as it is. */
export const UpdateOrganizationSettings = Type.Object(
  {
    ...Type.Partial(Type.Object(ownBudgets)).properties,
    budget: Type.Optional(ScopedBudget),
    commits: Type.Optional(
      Type.Object(
        { ...attribution, signer: Type.Optional(signer) },
        { description: 'Absent: as it is. So is a `signer` that is absent.', ...closed },
      ),
    ),
    egress: Type.Optional(SetEgressPolicy),
    pullRequestSection: Type.Optional(
      nullable(
        Type.String({
          maxLength: 2000,
          description:
            'Template, in Markdown, of the section at the end of each pull request, of which 16 lines are kept: `{verification}`, `{checks}`, `{signals}`, `{people}`, `{models}` and `{links}` stand for facts. Null: the usual one. Empty: no section.',
        }),
      ),
    ),
    followUps: Type.Optional(
      Type.Object(Type.Partial(Type.Object(followUps)).properties, {
        description: 'How pull requests are followed. A member that is absent stays as it is.',
        ...closed,
      }),
    ),
  },
  {
    title: 'UpdateOrganizationSettings',
    description: 'What is absent stays as it is.',
    minProperties: 1,
    ...closed,
  },
)

const PricePerMillion = Type.Object(
  { input: Dollars, cachedInput: Dollars, cacheWrite: Dollars, output: Dollars },
  open,
)

const PricedModel = Type.Object(
  {
    id: Type.String({ description: '`<provider>/<model>`.' }),
    provider: Type.String(),
    aliases: Type.Array(Type.String()),
    isDefault: Type.Boolean({ description: 'Whether Sessions without a model use it.' }),
    allowed: Type.Boolean({ description: 'Whether the organization may use it.' }),
    contextTokens: nullable(Count),
    outputTokens: nullable(Count),
    tools: Type.Boolean(),
    reasoning: Type.Boolean(),
    price: Type.Union([Type.Null(), PricePerMillion], {
      description: 'US dollars per million tokens; null if the cost of its answers is not known.',
    }),
  },
  { title: 'PricedModel', ...open },
)

export const PricedModelList = Type.Object(
  {
    models: Type.Array(PricedModel, { description: 'Models that the deployment describes, by id.' }),
    openProviders: Type.Array(Type.String(), { description: 'Providers that tell their models only to the gateway.' }),
    restricted: Type.Boolean({ description: 'Whether the operator lets the organization use some models alone.' }),
  },
  { title: 'PricedModelList', ...open },
)

/** What the providers of models answered when they were asked. */
export const ModelCheck = Type.Object(
  {
    providers: Type.Array(
      Type.Object(
        {
          id: Type.String(),
          outcome: openString(
            [
              'answered',
              'unlisted',
              'upstream_credential_refused',
              'upstream_request_refused',
              'upstream_rate_limited',
              'upstream_overloaded',
              'upstream_failed',
              'upstream_timeout',
              'upstream_unreachable',
              'upstream_invalid_response',
              'upstream_cut',
              'model_not_found',
            ],
            '`unlisted`: it has no list of models, and the configuration names none to ask. Others are codes of the gateway.',
          ),
          models: nullable(Count),
          detail: Type.Optional(Type.String({ description: 'More about a failure, without credentials.' })),
        },
        open,
      ),
      { description: 'Those of models that the organization may use, in the order of the configuration file.' },
    ),
  },
  { title: 'ModelCheck', ...open },
)

export type ModelCheck = Static<typeof ModelCheck>
export type OrganizationSettings = Static<typeof OrganizationSettings>
export type UpdateOrganizationSettings = Static<typeof UpdateOrganizationSettings>
export type PricedModelList = Static<typeof PricedModelList>
