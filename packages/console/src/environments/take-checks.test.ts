import { describe, expect, it } from 'vitest'
import type { Edits } from './edits.ts'
import { emptyDocument, toForm } from './form-values.ts'
import { withChecks } from './take-checks.ts'

const test = { name: 'test', run: 'npm test' }
const lint = { name: 'lint', run: 'npm run lint' }
const saved = { revision: 3, document: { ...emptyDocument, name: 'Node', secrets: [], checks: [test] } }
const documentOf = (made: Edits) => JSON.parse(made.json)

describe('checks that a person takes', () => {
  it('stand in the JSON view of a new environment with a name to begin with', () => {
    const made = withChecks(null, null, [test, lint], 'acme/shop')
    expect([made.view, made.base.revision]).toEqual(['json', null])
    expect(documentOf(made)).toEqual({ ...emptyDocument, name: 'acme/shop', checks: [test, lint] })
  })

  it('are added to those of an environment, which stay as they are', () => {
    const made = withChecks(null, saved as never, [{ ...test, run: 'other' }, lint], 'x')
    expect(made.base.revision).toBe(3)
    expect(documentOf(made)).toMatchObject({ name: 'Node', checks: [test, lint] })
    expect(documentOf(made).secrets).toBeUndefined()
  })

  it('keep other edits of the tab, whichever view they are in', () => {
    const document = { ...emptyDocument, name: 'Mine', setup: 'true' }
    const form: Edits = { base: { revision: null, document }, view: 'form', values: toForm(document), json: '' }
    expect(documentOf(withChecks(form, null, [lint], 'x'))).toMatchObject({
      name: 'Mine',
      setup: 'true',
      checks: [lint],
    })
    const json: Edits = { ...form, view: 'json', json: JSON.stringify({ ...document, setup: 'false' }) }
    expect(documentOf(withChecks(json, null, [lint], 'x'))).toMatchObject({ setup: 'false', checks: [lint] })
    expect(documentOf(withChecks({ ...json, json: '{' }, null, [lint], 'x'))).toMatchObject({ checks: [lint] })
  })
})
