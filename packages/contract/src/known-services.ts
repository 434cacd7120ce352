import type { SecretEgress } from './egress.ts'

/** A service whose keys a proxy can put into requests. */
export interface KnownService {
  readonly service: string
  readonly egress: SecretEgress
}

type Row = readonly [word: string, service: string, hosts: readonly string[], header?: string, format?: string]

/** By a word of a variable's name: the hosts of a service's API, and where its requests hold the key. */
const rows: readonly Row[] = [
  ['AIRTABLE', 'Airtable', ['api.airtable.com']],
  ['ANTHROPIC', 'Anthropic', ['api.anthropic.com'], 'x-api-key'],
  ['BUILDKITE', 'Buildkite', ['api.buildkite.com', 'graphql.buildkite.com']],
  ['CARGO_REGISTRY', 'crates.io', ['crates.io'], 'Authorization', '{value}'],
  ['CIRCLE(?:CI)?', 'CircleCI', ['circleci.com'], 'Circle-Token'],
  ['(?:CLOUDFLARE|CF)', 'Cloudflare', ['api.cloudflare.com']],
  ['COHERE', 'Cohere', ['api.cohere.com']],
  ['DEEPSEEK', 'DeepSeek', ['api.deepseek.com']],
  ['(?:DATADOG|DD)_APP(?:LICATION)?', 'Datadog', ['api.datadoghq.com', '*.datadoghq.com'], 'DD-APPLICATION-KEY'],
  ['(?:DATADOG|DD)', 'Datadog', ['api.datadoghq.com', '*.datadoghq.com'], 'DD-API-KEY'],
  ['(?:DIGITALOCEAN|DO)', 'DigitalOcean', ['api.digitalocean.com']],
  ['FIGMA', 'Figma', ['api.figma.com'], 'X-Figma-Token'],
  ['FLY', 'Fly.io', ['api.fly.io', 'api.machines.dev']],
  ['(?:GEMINI|GOOGLE_AI)', 'Gemini', ['generativelanguage.googleapis.com'], 'x-goog-api-key'],
  ['GEM_HOST', 'RubyGems', ['rubygems.org'], 'Authorization', '{value}'],
  ['(?:GITHUB|GH)', 'GitHub', ['api.github.com', 'uploads.github.com']],
  ['GITLAB', 'GitLab', ['gitlab.com'], 'PRIVATE-TOKEN'],
  ['GROQ', 'Groq', ['api.groq.com']],
  ['HEROKU', 'Heroku', ['api.heroku.com']],
  ['(?:HUGGINGFACE|HUGGING_FACE(?:_HUB)?|HF)', 'Hugging Face', ['huggingface.co', '*.huggingface.co']],
  ['(?:JIRA|CONFLUENCE|ATLASSIAN)', 'Atlassian', ['api.atlassian.com']],
  ['LINEAR', 'Linear', ['api.linear.app'], 'Authorization', '{value}'],
  ['MISTRAL', 'Mistral', ['api.mistral.ai']],
  ['NETLIFY', 'Netlify', ['api.netlify.com']],
  ['NOTION', 'Notion', ['api.notion.com']],
  ['(?:NPM|NODE_AUTH)', 'npm', ['registry.npmjs.org']],
  ['OPENAI', 'OpenAI', ['api.openai.com']],
  ['OPENROUTER', 'OpenRouter', ['openrouter.ai']],
  ['PAGERDUTY', 'PagerDuty', ['api.pagerduty.com'], 'Authorization', 'Token token={value}'],
  ['POSTMARK(?:_SERVER)?', 'Postmark', ['api.postmarkapp.com'], 'X-Postmark-Server-Token'],
  ['RESEND', 'Resend', ['api.resend.com']],
  ['SENDGRID', 'SendGrid', ['api.sendgrid.com']],
  ['SENTRY', 'Sentry', ['sentry.io', '*.sentry.io']],
  ['SLACK', 'Slack', ['slack.com']],
  ['SNYK', 'Snyk', ['api.snyk.io'], 'Authorization', 'token {value}'],
  ['STRIPE', 'Stripe', ['api.stripe.com']],
  ['SUPABASE', 'Supabase', ['api.supabase.com']],
  ['VERCEL', 'Vercel', ['api.vercel.com']],
]

/** Ends of names whose value is sent with each request; others sign, identify or verify, and never leave. */
const ending = '_(?:(?:REST_)?API_|ACCESS_|AUTH_|BOT_|USER_|PERSONAL_|SECRET_|SERVICE_)*(?:TOKEN|KEY|PAT)$'
const services = rows.map(
  ([word, service, hosts, header = 'Authorization', format]): readonly [RegExp, KnownService] => [
    new RegExp(`(?:^|_)${word}${ending}`, 'i'),
    { service, egress: { hosts: [...hosts], put: { header, ...(format !== undefined && { format }) } } },
  ],
)
const pypi: KnownService = {
  service: 'PyPI',
  egress: { hosts: ['upload.pypi.org'], put: { basic: { user: '__token__' } } },
}

/** Returns the service that a variable of this name is a key of; null if none is known. */
export function knownService(name: string): KnownService | null {
  if (/^(?:(?:.*_)?PYPI(?:_API)?_TOKEN|UV_PUBLISH_TOKEN)$/i.test(name)) return pypi
  return services.find(([pattern]) => pattern.test(name))?.[1] ?? null
}
