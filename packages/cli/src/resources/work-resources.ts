import { efforts } from '@berth/client'
import type { ResourceGroup, ResourceRow } from './resource.ts'

const place = {
  flags: '--at <state>',
  does: 'files as they are now, as they were sealed last, or as the session began',
  choices: ['workspace', 'sealed', 'base'],
} as const

/** Groups of commands on the work of Sessions. */
export const workGroups: readonly ResourceGroup[] = [
  { name: 'turns', does: 'read the messages of a session' },
  { name: 'runs', does: 'read runs, and what they cost' },
  { name: 'artifacts', does: 'list and download files that agents present' },
  { name: 'files', does: 'read files of a workspace, also while it rests' },
  { name: 'ports', does: 'see what listens in a sandbox' },
  { name: 'reviews', does: 'read the revisions that were made of a session' },
  { name: 'verifications', does: 'read how the checks of revisions went' },
  { name: 'publications', does: "read a session's publications, and what their pull requests wait for" },
  { name: 'merges', does: 'read the merges of a publication' },
  { name: 'pr', does: 'see the pull requests that were published, and who has the next step' },
]

/** Commands on the work of Sessions: each calls one operation. */
export const workResources: Readonly<Record<string, ResourceRow>> = {
  'sessions show': {
    operation: 'getSession',
    member: 'session',
    does: 'show a session as it is now',
    examples: ['$SESSION', '$SESSION --fields phase,workspace.state'],
  },
  'sessions edit': {
    operation: 'updateSession',
    member: 'session',
    does: 'change a session; a run that has begun keeps the values it started with',
    options: [
      { flags: '--title <title>', does: 'another name' },
      { flags: '--model <id>', does: 'model of the next turn' },
      { flags: '--effort <effort>', does: 'how hard the model of the next turn may think', choices: efforts },
      {
        flags: '--budget <dollars>',
        does: 'what all its runs may spend on models, in US dollars; none removes it. A run that waits for more goes on',
        as: 'budget',
      },
    ],
    examples: ["$SESSION --title 'fix the build'", '$SESSION --budget 20'],
  },
  'sessions archive': {
    operation: 'archiveSession',
    does: 'archive a session for good; it stays readable',
    done: 'archived',
  },
  'sessions cost': { operation: 'getSessionCost', does: 'show what a session has spent on models; for people' },
  'turns list': {
    operation: 'listTurns',
    does: 'list the turns of a session in their order',
    columns: { TURN: 'id', RUN: 'runId', AT: 'createdAt', MESSAGE: 'message' },
    examples: ['$SESSION', '$SESSION --json | jq -r .message'],
  },
  'runs show': {
    operation: 'getRun',
    member: 'run',
    does: 'show a run as it is now; the last one of its turn is in turns list',
    examples: ['$SESSION $RUN', '$SESSION $RUN --fields status,costUsd'],
  },
  'artifacts list': {
    operation: 'listArtifacts',
    does: 'list the artifacts of a session, newest first',
    columns: { ARTIFACT: 'id', KIND: 'kind', BYTES: 'sizeBytes', TYPE: 'mediaType', NAME: 'name' },
  },
  'artifacts show': { operation: 'getArtifact', member: 'artifact', does: 'show what is known of an artifact' },
  'artifacts download': {
    operation: 'getArtifactContent',
    does: 'write the bytes of an artifact to standard output, or to --output',
    examples: ['$SESSION $ARTIFACT --output report.pdf'],
  },
  'files list': {
    operation: 'getWorkspaceNode',
    does: 'list a directory of a workspace; for people',
    args: [{ shown: '[path]', to: 'query.path', does: 'default: the directory that agents start in' }],
    options: [place],
    columns: { KIND: 'kind', BYTES: 'sizeBytes', NAME: 'name' },
    items: 'node.entries',
    examples: ['$SESSION', '$SESSION src --at sealed'],
  },
  'files read': {
    operation: 'getWorkspaceContent',
    does: 'write the bytes of a file to standard output, or to --output; for people',
    args: [{ shown: '<path>', to: 'query.path' }],
    options: [place],
    examples: ['$SESSION README.md', '$SESSION build/app.zip --output app.zip'],
  },
  'ports list': {
    operation: 'listPorts',
    items: 'ports',
    does: 'list the ports on which something listens in the sandbox; for people',
    columns: { PORT: '.' },
  },
  'reviews list': {
    operation: 'listStoredReviews',
    items: 'reviews',
    does: 'list the revisions that were made of a session; for people',
    columns: { REVISION: 'revision', AT: 'createdAt' },
  },
  'reviews show': {
    operation: 'getStoredReview',
    member: 'review',
    does: 'show a revision as it was reviewed; for people',
    examples: ['$SESSION $REVISION', "$SESSION $REVISION --json | jq -r '.files[].path'"],
  },
  'verifications list': {
    operation: 'listVerifications',
    does: 'list the verifications of a session, newest first',
    columns: { VERIFICATION: 'id', STATE: 'state', PASSED: 'counts.passed', FAILED: 'counts.failed' },
  },
  'verifications show': {
    operation: 'getVerification',
    member: 'verification',
    does: 'show how the checks of a revision went',
  },
  'publications list': {
    operation: 'listPublications',
    does: 'list the publications of a session, newest first',
    columns: { PUBLICATION: 'id', STATUS: 'status', PULL: 'result.pullRequest.url', TITLE: 'title' },
  },
  'publications show': { operation: 'getPublication', member: 'publication', does: 'show a publication as it is now' },
  'publications checks': {
    operation: 'listPublicationChecks',
    does: 'show what keeps a pull request from being merged; for people',
  },
  'merges list': {
    operation: 'listMerges',
    does: 'list the merges of a publication, newest first',
    columns: { MERGE: 'id', STATUS: 'status', STRATEGY: 'strategy', COMMIT: 'mergedCommitSha' },
  },
  'pr list': {
    operation: 'listPullRequests',
    does: 'list the pull requests that sessions have published, the last changed first',
    options: [
      {
        flags: '--state <state>',
        does: 'only those in this state',
        choices: ['open', 'draft', 'merged', 'closed', 'unknown'],
      },
      { flags: '--mine', does: 'only those of sessions that you started', as: 'flag' },
    ],
    columns: {
      SESSION: 'sessionId',
      PULL: 'number',
      STATE: 'state',
      TURN: 'turn',
      FOLLOWED: 'followUp.state',
      REASON: 'followUp.reason',
      ATTEMPTS: 'followUp.attempts',
      COST: 'costUsd',
      CHANGED: 'updatedAt',
      REPOSITORY: 'repository',
      TITLE: 'title',
    },
    examples: ['', '--state open', '--json | jq -r \'select(.turn == "person") | .url\''],
  },
  'merges show': { operation: 'getMerge', member: 'merge', does: 'show a merge as it is now' },
}
