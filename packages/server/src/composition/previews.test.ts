import { StartError } from '@berth/platform/kit/start-error.ts'
import { loadSettings } from '@berth/platform/settings/settings.ts'
import { expect, test } from 'vitest'
import { requireOwnPreviewSite } from './previews.ts'

const required = (previewDomain: string, baseUrl = 'https://console.example') =>
  requireOwnPreviewSite(loadSettings({ BERTH_BASE_URL: baseUrl, BERTH_PREVIEW_DOMAIN: previewDomain }, () => undefined))

test.each([
  ['console.example', 'the console itself'],
  ['console.example:8443', 'another port of it'],
  ['preview.console.example', 'a name below the console'],
  ['previews.acme.example', 'another name of one owner', 'https://berth.acme.example'],
  ['acme.example', 'the domain of both', 'https://berth.acme.example'],
])('previews do not share a site with the console: %s is %s', (domain, _what, url?: string) => {
  expect(() => required(domain, url)).toThrow(StartError)
})

test('previews may have a domain of their own', () => {
  expect(() => required('preview.test')).not.toThrow()
  // Whoever has a name below a public suffix of a company shares no site with its neighbours.
  expect(() => required('previews.github.io', 'https://berth.github.io')).not.toThrow()
  expect(() => required('previews.acme.example', 'https://127.0.0.1:8443')).not.toThrow()
})
