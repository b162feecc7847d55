export { CarrelClient, newIdempotencyKey, type ClientOptions, type RequestOptions, type SubscribeOptions } from './client.ts';
export type { ResultOf, TypedDocument, VariablesOf } from './document.ts';
export {
  accepted,
  CarrelError,
  MutationError,
  NetworkError,
  RequestError,
  UnauthenticatedError,
  type GraphQLError,
  type UserError,
} from './errors.ts';
export { follow, type Following, type FollowStatus } from './follow.ts';
export { LiveLibrary, type LibraryChange, type LibraryDocuments, type LibraryEntry, type LibraryOptions,
  type LibrarySnapshot } from './library.ts';
export type { Entry, Order, Page } from './range.ts';
export { compareDateTimes, toDate, toMicroseconds, type Cursor, type DateTime } from './scalars.ts';
export * from './generated/operations.ts';
export { possibleTypes } from './generated/possible-types.ts';
