import type { ApplyStep } from './apply-parts.ts'

/** Tells whether the sandbox gets tokens of Git hosts. If it gets none, only a clone that needs one fails the apply. */
export const githubStep: ApplyStep = {
  name: 'github',
  isDue: ({ github }) => github,
  run: async ({ context, lease }) => ({ github: await context.git.report(lease.id) }),
}
