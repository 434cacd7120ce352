import type { Declaration } from '../../packages/platform/src/settings/environment.ts'
import { describeSettings } from '../../packages/platform/src/settings/settings.ts'

const introduction = `# Settings

<!-- Made by \`node script/docs.ts\`; do not edit. -->

For operators: every setting, its meaning, when to change it, its default and which values it takes. The service reads its
environment once, at the start. A variable that begins with \`BERTH_\` and is not listed here, or a value that does not fit, stops the
start with one line that names it. An empty variable counts as absent. Names end in their unit where they have one.

\`NODE_ENV=production\` makes a production service: its three URLs must be https, and it makes no development tenant.
`

/** The settings that people set first, in the order in which they meet them. */
const first: readonly string[] = [
  ...['BERTH_DATA_DIR', 'BERTH_CONFIG', 'BERTH_HOST', 'BERTH_PORT', 'BERTH_BASE_URL', 'BERTH_AUTH_URL'],
  ...['BERTH_CONSOLE_URL', 'BERTH_GATEWAY_URL', 'BERTH_PREVIEW_DOMAIN', 'BERTH_TRUSTED_PROXIES', 'BERTH_ROLES'],
  ...['DATABASE_URL', 'BERTH_BLOBS', 'AWS_REGION', 'AWS_ENDPOINT_URL', 'BERTH_MASTER_KEY', 'BERTH_COMPUTE'],
  ...['BERTH_WORKER_CONCURRENCY', 'BERTH_SANDBOX_MEMORY_BYTES', 'BERTH_SANDBOX_CPUS', 'BERTH_SANDBOX_DISK_BYTES'],
  ...['BERTH_EGRESS', 'BERTH_RUN_BUDGET_USD', 'BERTH_LOG_LEVEL', 'BERTH_METRICS_PORT'],
]

const bucket = `
## Blobs in a bucket

With \`BERTH_BLOBS=s3://<bucket>/<prefix>\` the start checks that the bucket answers. The credentials need these rights:
\`s3:ListBucket\`, \`s3:GetObject\`, \`s3:PutObject\`, \`s3:DeleteObject\`, \`s3:AbortMultipartUpload\` and
\`s3:ListBucketMultipartUploads\`. With \`AWS_ACCESS_KEY_ID\` and
\`AWS_SECRET_ACCESS_KEY\` the service looks for no others. Without them it takes those that the machine has, in the order of the
AWS SDKs, and renews them before they expire: a profile (\`AWS_PROFILE\`, \`~/.aws\`), a web identity (\`AWS_WEB_IDENTITY_TOKEN_FILE\`
and \`AWS_ROLE_ARN\`, as Kubernetes service accounts have it), a container's endpoint
(\`AWS_CONTAINER_CREDENTIALS_FULL_URI\`) and the role of an EC2 instance.

Keys are laid out as the files of a directory are, so you may copy one store to the other. Set no lifecycle rule that deletes objects
below the prefix. Content larger than one part waits in the data directory until its digest is known.
`

const configuration = `
## The configuration file

\`BERTH_CONFIG\`, or \`berth.json\` in the data directory, holds settings that have structure. Every key is optional; an unknown key
stops the start. A known key with null counts as left out; any other null stops the start. Write an \`apiKey\`, an \`appId\`, a
\`privateKey\`, a \`clientSecret\` or a value of a runtime's \`env\` as it is, or as
\`{ "env": "NAME" }\` to take it from the environment.

If the file holds a secret itself, it must be closed to others (\`chmod 600\`), or the start is refused. Which values of \`env\` count
as secrets depends on their names ([runtimes](runtimes.md#secrets)).

\`\`\`json
{
  "providers": [
    {
      "id": "local",
      "kind": "openai-compatible",
      "baseUrl": "http://127.0.0.1:8000/v1",
      "apiKey": { "env": "LOCAL_API_KEY" },
      "wire": ["chat"],
      "models": [
        {
          "id": "m1",
          "contextTokens": 128000,
          "outputTokens": 8192,
          "tools": true,
          "reasoning": false,
          "modalities": ["text", "image"],
          "price": { "input": 1.0, "cachedInput": 0.1, "cacheWrite": 1.25, "output": 4.0 }
        }
      ]
    }
  ],
  "models": { "default": "local/m1", "aliases": { "fast": "local/m1" } },
  "runtimes": [
    {
      "id": "opencode",
      "name": "OpenCode",
      "command": ["opencode", "acp"],
      "env": { "KEY": "value" },
      "reach": ["http://127.0.0.1:9000"],
      "mounts": ["/opt/opencode"]
    }
  ],
  "gitHosts": [{ "kind": "github", "appId": "1", "privateKey": { "env": "GITHUB_APP_KEY" } }],
  "identityProviders": [
    { "id": "acme", "name": "Acme", "issuer": "https://id.acme.example", "clientId": "berth", "clientSecret": { "env": "ACME_SECRET" } }
  ]
}
\`\`\`

| key | meaning |
|---|---|
| \`providers[].kind\` | \`openai\`, \`anthropic\`, \`google\` or \`openai-compatible\`, which needs a \`baseUrl\`. |
| \`providers[].wire\` | Formats that the provider speaks: \`chat\`, \`responses\`, \`messages\`, \`generate\` ([gateway.md](gateway.md)). |
| \`providers[].models[].price\` | US dollars per million tokens. Without a price the cost of a Run is incomplete, and whoever has a budget is refused. Zeros are a price. |
| \`models\` | The default and the aliases. A model's id is \`<provider id>/<model id>\`, or an alias. |
| \`runtimes[].command\` | Starts an ACP agent inside a sandbox ([runtimes.md](runtimes.md)). |
| \`runtimes[].reach\` | Origins that its sandboxes reach besides the public hosts. Only here may loopback be named. |
| \`runtimes[].mounts\` | Absolute directories of the host, shown read-only at the same path. |
| \`gitHosts\` | Apps of GitHub, in the cloud or your own ([git-hosts.md](git-hosts.md)). |
| \`commits\` | Name, email and key of the commits that Berth makes ([git-hosts.md](git-hosts.md#decide-whom-commits-name)). |
| \`firstPartyClients\` | Confidential clients of your own that sign people in ([accounts.md](accounts.md#from-a-service-of-your-own)). |
| \`identityProviders\` | OpenID providers that people sign in with ([accounts.md](accounts.md#sign-in-with-another-provider)). |
| \`egress\` | Public hosts that sandboxes may reach, and ranges that they may not ([sandbox-network.md](sandbox-network.md)). |
| \`webhooks.allow\` | Origins that webhooks reach besides public hosts, such as \`http://127.0.0.1:9000\`; refused in production ([webhooks.md](webhooks.md)). |
| \`extensions.catalog\` | Extensions that documents may name by a slug, \`[{ slug, path }]\` or \`[{ slug, url, sha256 }]\` ([extensions.md](extensions.md)). |
| \`transcription\` | The engine for speech ([transcription.md](transcription.md)). |
| \`search\` | The provider by which agents search the web ([sandbox-network.md](sandbox-network.md#let-agents-search-the-web)). |
`

/** Returns the page of every setting, made from their declarations. @throws Error if a foremost one is none */
export function renderSettings(): string {
  const settings = describeSettings()
  const foremost = first.map(name => settings.find(setting => setting.name === name) ?? missing(name))
  const others = settings.filter(setting => !foremost.includes(setting))
  const tables = `
## The ${first.length} that people set first

${tableOf(foremost)}
## The rest

${tableOf(others)}`
  return introduction + tables + bucket + configuration
}

function missing(name: string): never {
  throw new Error(`${name} is not a setting`)
}

const tableOf = (settings: readonly Declaration[]): string =>
  `| setting | meaning, and when to change it | default | values |\n|---|---|---|---|\n${settings.map(rowOf).join('')}`

function rowOf({ name, meaning, fallback, range }: Declaration): string {
  const isValue = /^[\w./:-]+$/.test(fallback) && !['absent', 'all', 'none'].includes(fallback)
  // Outside of code, what stands in angle brackets would be an element of HTML.
  const values = range.replaceAll(/\S*<\S+/g, '`$&`')
  return `| \`${name}\` | ${meaning} | ${isValue ? `\`${fallback}\`` : fallback} | ${values} |\n`
}
