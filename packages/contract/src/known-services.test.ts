import { expect, test } from 'vitest'
import { knownService } from './known-services.ts'

test.each([
  ['GITHUB_TOKEN', 'api.github.com', { header: 'Authorization' }],
  ['gh_token', 'api.github.com', { header: 'Authorization' }],
  ['NPM_TOKEN', 'registry.npmjs.org', { header: 'Authorization' }],
  ['NODE_AUTH_TOKEN', 'registry.npmjs.org', { header: 'Authorization' }],
  ['PYPI_TOKEN', 'upload.pypi.org', { basic: { user: '__token__' } }],
  ['OPENAI_API_KEY', 'api.openai.com', { header: 'Authorization' }],
  ['ANTHROPIC_API_KEY', 'api.anthropic.com', { header: 'x-api-key' }],
  ['STRIPE_SECRET_KEY', 'api.stripe.com', { header: 'Authorization' }],
  ['MY_STRIPE_API_KEY', 'api.stripe.com', { header: 'Authorization' }],
  ['SLACK_BOT_TOKEN', 'slack.com', { header: 'Authorization' }],
  ['SENTRY_AUTH_TOKEN', 'sentry.io', { header: 'Authorization' }],
  ['LINEAR_API_KEY', 'api.linear.app', { header: 'Authorization', format: '{value}' }],
  ['JIRA_API_TOKEN', 'api.atlassian.com', { header: 'Authorization' }],
  ['DD_API_KEY', 'api.datadoghq.com', { header: 'DD-API-KEY' }],
  ['DATADOG_APP_KEY', 'api.datadoghq.com', { header: 'DD-APPLICATION-KEY' }],
  ['CLOUDFLARE_API_TOKEN', 'api.cloudflare.com', { header: 'Authorization' }],
  ['HF_TOKEN', 'huggingface.co', { header: 'Authorization' }],
])('%s is a key for %s', (name, host, put) => {
  expect(knownService(name)?.egress).toMatchObject({ hosts: expect.arrayContaining([host]), put })
})

test.each([
  'SLACK_SIGNING_SECRET',
  'STRIPE_WEBHOOK_SECRET',
  'STRIPE_PUBLISHABLE_KEY',
  'GITHUB_APP_PRIVATE_KEY',
  'GITHUB_REPOSITORY',
  'DATABASE_PASSWORD',
  'DEPLOY_TOKEN',
  'EDO_TOKEN_COUNT',
  'ADD_KEY',
])('%s is a key of no known service', name => expect(knownService(name)).toBeNull())
