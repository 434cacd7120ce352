export { version } from '../../package.json'

/** The changelog, as the documentation's site has it. */
export const changes = '/docs/repository/CHANGELOG'
