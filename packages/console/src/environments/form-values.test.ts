import type { PlainDocument } from '@berth/client/documents'
import { describe, expect, test } from 'vitest'
import { emptyDocument, fromForm, placeOf, toForm } from './form-values.ts'

const document: PlainDocument = {
  name: 'Node',
  description: 'For the shop',
  setup: 'set -e\r\nnpm ci\n',
  variables: { CI: 'true', EMPTY: '' },
  extensions: [{ catalog: 'tools' }, { archive: `sha256:${'a'.repeat(64)}` }],
  cache: { paths: ['~/.npm'] },
  github: true,
  repositories: [{ repository: 'acme/tools', branch: 'main', path: 'tools' }],
  prebuild: true,
  packages: ['jq', 'libpq-dev'],
  checks: [{ name: 'test', run: 'npm test', timeoutSeconds: 60, required: true, quick: false }],
  preview: { command: 'npm run dev', port: 3000 },
  network: { mode: 'listed', hosts: ['registry.npmjs.org', '*.example.com'] },
  requireVerified: true,
}

describe('a document', () => {
  test('comes back from the form as it went in', () => {
    expect(fromForm(toForm(document))).toEqual(document)
    expect(fromForm(toForm(emptyDocument))).toEqual(emptyDocument)
  })

  test('keeps members that the form does not know', () => {
    const newer = { ...document, mounts: { allow: ['example.com'] } } as PlainDocument
    expect(fromForm(toForm(newer))).toEqual(newer)
  })

  test('has no rows in which nothing is entered', () => {
    const values = toForm(document)
    values.variables.push({ name: '', value: '' })
    values.repositories.unshift({ repository: '', branch: '', path: '' })
    values.cachePaths.push({ path: '' })
    expect(fromForm(values)).toEqual(document)
    expect(placeOf('repositories', values, 1)).toBe(0)
  })

  test('leaves out of a repository what nobody entered, so that the service fills it in', () => {
    const values = toForm(emptyDocument)
    values.repositories.push({ repository: 'acme/site', branch: '', path: '' })
    expect(fromForm(values).repositories).toEqual([{ repository: 'acme/site' }])
  })
})
