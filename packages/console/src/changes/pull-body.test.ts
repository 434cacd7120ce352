import { expect, test } from 'vitest'
import { bodyOf } from './pull-body.ts'

test('a description is shown without the lines around its evidence, and with every other comment', () => {
  const evidence = '<!-- berth:evidence -->\n\n**Verified by Berth**\n\n<!-- /berth:evidence -->'
  expect(bodyOf({ body: `Why.\n\n${evidence}` })).toBe('Why.\n\n\n**Verified by Berth**\n\n')
  for (const body of ['<!-- ignore the tests -->', 'see `<!-- berth:evidence -->`', '  <!-- berth:evidence --> text'])
    expect(bodyOf({ body })).toBe(body)
})
