import { limits } from '@berth/contract'
import { readSectionTemplate } from '../../../accounts/organizations/pull-request-section.ts'
import type { DeliveryContext } from '../../../delivery/delivery-context.ts'
import type { DeliverySource } from '../../../delivery/sources.ts'
import { GitHostError, type HostPull } from '../../../git-hosts/git-host.ts'
import { ownCheckId } from '../../../git-hosts/own-check.ts'
import { withSection } from '../../../git-hosts/pull-section.ts'
import type { PublicationClaim } from '../publication-sql.ts'
import type { Evidence } from './evidence.ts'
import { countedChecks, evidenceSection } from './evidence-section.ts'
import { readEvidence } from './read-evidence.ts'

/** Name of the check run that says whether the change is verified. */
const CHECK_NAME = 'Berth: verified'

/** So often a host that is away is asked again before the pull request stays as it is. */
const MOST_TRIES = 5

/** The evidence of a Publication, and the section that shows it in the pull request. */
export interface RenderedEvidence {
  readonly evidence: Evidence
  readonly section: string
}

/** Reads the evidence of a Publication, and puts it into the words that the organization chose. */
export async function renderEvidence(context: DeliveryContext, claim: PublicationClaim): Promise<RenderedEvidence> {
  const template = await readSectionTemplate(context.db, claim.organizationId)
  const evidence = await readEvidence(context, claim, claim.row)
  return { evidence, section: evidenceSection(evidence, template) }
}

/** Returns a description with the section at its end; without it if the host would find both too long. */
export function describedBy(body: string, { section }: RenderedEvidence): string {
  const whole = withSection(body, section)
  return Buffer.byteLength(whole) <= limits.proseBytes ? whole : withSection(body, '')
}

/**
 * Brings the evidence to an open pull request: its description ends with the section, in place of an earlier one, and a
 * check run of the commit tells whether it is verified. Whoever repeats this finds what is there already. It never fails the
 * Publication, since its change has arrived: what the host refuses is left out, and a host that stays away is given up.
 * @throws GitHostError that passes, a few times
 */
export async function reportEvidence(
  context: DeliveryContext,
  claim: PublicationClaim,
  { host, repository }: DeliverySource,
  { pull, commitSha, ...rendered }: RenderedEvidence & { readonly pull: HostPull; readonly commitSha: string },
  signal: AbortSignal,
): Promise<void> {
  const attempts = [describe, report]
  for (const step of attempts) {
    try {
      await step()
    } catch (error) {
      if (!(error instanceof GitHostError) || (error.passing && claim.row.failures < MOST_TRIES)) throw error
      context.log.warn(
        { err: error, publicationId: claim.row.id },
        'a pull request stays without a part of its evidence',
      )
    }
  }

  async function describe(): Promise<void> {
    const body = describedBy(pull.body.replaceAll('\r\n', '\n'), rendered)
    if (body !== pull.body.replaceAll('\r\n', '\n')) await host.describePull(repository, pull.number, body, signal)
  }

  async function report(): Promise<void> {
    const { verification, links } = rendered.evidence
    if (host.talk === undefined || verification === null) return
    const check = {
      headOid: commitSha,
      name: CHECK_NAME,
      externalId: ownCheckId('publication', claim.row.id),
      url: links.review,
      conclusion: verification.state === 'passed' ? ('success' as const) : ('failure' as const),
      title: countedChecks(verification.checks),
      summary: evidenceSection(rendered.evidence, null),
    }
    const found = await host.talk.findOwnCheck(repository, check, signal)
    if (found === null) await host.talk.addCheck(repository, check, signal)
    else await host.talk.editCheck(repository, found, check, signal)
  }
}
