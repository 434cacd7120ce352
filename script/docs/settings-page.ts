import { describeSettings } from '../../packages/server/src/settings/settings.ts'

const introduction = `# Settings

<!-- Made by \`node script/docs.ts\`; do not edit. -->

Settings are read once, from the environment. A variable that begins with \`BERTH_\` and is not listed here, or a value that
does not fit, stops the start with one line that names it. An empty variable counts as absent. \`NODE_ENV=production\` makes
a production service: its three URLs must be https, and no development tenant is made.

| setting | meaning | default |
|---|---|---|
`

const bucket = `
## Blobs in a bucket

With \`BERTH_BLOBS=s3://<bucket>/<prefix>\` the start makes sure that the bucket answers. The credentials need
\`s3:ListBucket\`, \`s3:GetObject\`, \`s3:PutObject\`, \`s3:DeleteObject\`, \`s3:AbortMultipartUpload\` and
\`s3:ListBucketMultipartUploads\`. They are taken from these variables and from nowhere else; temporary ones are not renewed.
The keys are laid out as the files of a directory are, so one may be copied to become the other. No lifecycle rule may delete
objects below the prefix. Larger content waits in the data directory until its digest is known.
`

const configuration = `
## The configuration file

\`BERTH_CONFIG\`, or \`berth.json\` in the data directory, holds what has structure. Every key is optional; an unknown one stops
the start. An \`apiKey\`, an \`appId\`, a \`privateKey\` and the values of a runtime's \`env\` are written as they are, or as
\`{ "env": "NAME" }\` to be taken from the environment. A file that holds a secret itself must be closed to others (\`chmod 600\`),
or the start is refused; one that only names its secrets may have any mode. The values of \`env\` are told apart by their
names ([runtimes](runtimes.md#secrets)).

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
          "price": { "input": 1.0, "cachedInput": 0.1, "output": 4.0 }
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
  "gitHosts": [{ "kind": "github", "appId": "1", "privateKey": { "env": "GITHUB_APP_KEY" } }]
}
\`\`\`

- \`kind\` of a provider: \`openai\`, \`anthropic\`, \`google\` or \`openai-compatible\` (which needs a \`baseUrl\`). \`wire\` says which
  formats the upstream speaks by itself: \`chat\`, \`responses\`, \`messages\`, \`generate\` ([gateway.md](gateway.md)). Prices are US
  dollars per million tokens; without one a Run's cost is incomplete.
- A model's id is \`<provider id>/<model id>\`, or an alias.
- A runtime is an ACP agent, started by \`command\` inside a sandbox. \`reach\` lists the origins that its sandboxes get to
  besides what policy allows everyone; only an operator may name loopback, here. \`mounts\` are absolute directories of the host
  shown read-only at the same path, for agents that are installed outside the system's directories.
`

/** The page of every setting, made from their declarations. */
export function renderSettings(): string {
  const rows = describeSettings().map(({ name, meaning, fallback }) => {
    const shown =
      /^[\w./:-]+$/.test(fallback) && fallback !== 'absent' && fallback !== 'all' ? `\`${fallback}\`` : fallback
    return `| \`${name}\` | ${meaning} | ${shown} |\n`
  })
  return introduction + rows.join('') + bucket + configuration
}
