//#region document
import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { LibraryPageDocument, type TypedDocument } from 'carrel-client';
import { parse } from 'graphql';

function parsed<Result, Variables>(
  document: TypedDocument<Result, Variables>,
): TypedDocumentNode<Result, Variables> {
  return parse(document.text);
}

export const LIBRARY_PAGE = parsed(LibraryPageDocument);
//#endregion
