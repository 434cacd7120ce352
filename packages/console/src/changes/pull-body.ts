import type { LocalPull } from '@berth/contract'

/**
 * Returns the description of a pull request as people read it: without the two lines by which Berth finds its evidence in it
 * again. Any other comment of HTML stays in sight, since it may say something to an agent.
 */
export const bodyOf = ({ body }: Pick<LocalPull, 'body'>): string =>
  body.replaceAll(/^<!-- \/?berth:evidence -->$\n?/gm, '')
